// Child processes. Private.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace tessera::runs {

/// Child processes, each with one thread of this library. They are killed when this process ends in
/// any way, so none continues unnoticed.
class Children {
 public:
  Children() = default;
  /// Kills the children that still run.
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts a child that calls `work` and exits with its result; after an exception it writes the
  /// text to standard error and exits with kFailed. Its standard output and error are appended to
  /// `output`.
  /// **Errors**: the file cannot be written; no process can be started.
  void start(const std::filesystem::path& output, const std::function<int()>& work);

  /// The exit code of a child that has ended, and its number in the order of start().
  struct Ended {
    std::size_t number;
    int code;  // 128 + the signal that killed it
  };
  /// Waits for a child to end. Signals noted by an InterruptScope meanwhile are sent to all
  /// children.
  Ended wait();
  std::size_t running() const;
  /// Sends a signal to all children.
  void signal(int number) const;

  static constexpr int kFailed = 2;

 private:
  std::vector<pid_t> children_;  // 0: has ended
  bool forwarded_ = false;
};

}  // namespace tessera::runs
