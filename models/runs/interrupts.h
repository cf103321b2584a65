// The signals that stop a training after it has saved.
#pragma once

#include <signal.h>

#include <array>

namespace tessera::runs {

/// While an InterruptScope exists, Ctrl-C, SIGTERM and SIGHUP are noted. A second Ctrl-C, or a
/// second SIGTERM, ends the process. A signal that was ignored before stays ignored, such as SIGHUP
/// under nohup and SIGINT in a script's `program &`.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

/// The signal noted since the outermost InterruptScope began; 0: none.
int noted_signal();

}  // namespace tessera::runs
