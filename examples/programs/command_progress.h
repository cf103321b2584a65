// How far a command is, drawn on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "tensor/kernels/types.h"

namespace tessera::examples {

/// A line like "512/5452 lines  9 %  430 lines/s  0:11 left" on standard error, if that is a
/// terminal; standard output is for results. It goes with the object, or before. Of several
/// processes the first draws it.
class CommandProgress {
 public:
  /// `what` is counted, "lines", of which there are `total`.
  CommandProgress(std::string what, index_t total);
  ~CommandProgress() { clear(); }
  CommandProgress(const CommandProgress&) = delete;
  CommandProgress& operator=(const CommandProgress&) = delete;

  /// Draws the line, at most ten times a second.
  void show(index_t done);
  /// The same by a process that has done so many of its share: the others are taken to be as far.
  void show_share(index_t done, index_t share) { show(done * total_ / share); }
  /// The same where only now it is known how many there are.
  void show(index_t done, index_t total);
  /// Takes the line away: results follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  index_t total_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point begun_, shown_;
};

}  // namespace tessera::examples
