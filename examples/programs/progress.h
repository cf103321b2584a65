// The output of a program while it trains.
#pragma once

#include <chrono>
#include <string>

#include "tensor/kernels/types.h"

namespace tessera::examples {

/// The progress of a run.
struct Standing {
  index_t epoch = 0;  // from 1
  index_t epochs = 0;
  double fraction = 0;  // of the epoch
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

/// A bar that is drawn over and over where standard output is a terminal, on one line, and
/// disappears in the end; where it is not, a line every ten seconds.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows where the run stands, unless that was done a moment ago.
  void show(const Standing& standing);
  /// Prints a line that stays; the bar disappears.
  void line(const std::string& text);

 private:
  void clear();

  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point shown_;
};

/// The columns of the terminal behind a stream; 0 where nobody can draw: it is no terminal, or one
/// without columns, as Open MPI's mpirun puts in front of the standard output of its processes.
index_t terminal_columns(int stream);

/// "1:05:09", "0:21".
std::string clock_time(double seconds);

/// A number with `digits` digits after the point, whatever the locale.
std::string fixed(double value, int digits);

}  // namespace tessera::examples
