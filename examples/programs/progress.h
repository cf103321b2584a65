// The progress of a program, on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "tensor/kernels/types.h"

namespace tessera::examples {

/// A line on a terminal that is redrawn repeatedly, and disappears at the end.
class DrawnLine {
 public:
  /// On STDOUT_FILENO or STDERR_FILENO.
  explicit DrawnLine(int stream);
  ~DrawnLine() { clear(); }
  DrawnLine(const DrawnLine&) = delete;
  DrawnLine& operator=(const DrawnLine&) = delete;

  /// The columns of the terminal; 0 if nothing can be drawn: the stream is not a terminal, or a
  /// terminal without columns, such as Open MPI's mpirun gives its processes.
  index_t columns() const;
  void draw(const std::string& line);
  void clear();

 private:
  int stream_;
  bool drawn_ = false;
};

/// The progress of a training.
struct Standing {
  index_t epoch = 0;  // from 1
  index_t epochs = 0;
  double fraction = 0;  // of the epoch
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

/// A bar on standard output if it is a terminal; otherwise a line every ten seconds.
class Progress {
 public:
  Progress();

  /// Shows the progress of the run, unless the last call was a moment ago.
  void show(const Standing& standing);
  /// Prints a permanent line; the bar disappears.
  void line(const std::string& text);

 private:
  DrawnLine bar_;
  bool terminal_;
  bool begun_ = false;
  std::chrono::steady_clock::time_point shown_;
};

/// A line like "512/5452 lines 9 % 430 lines/s 0:11 left" on standard error, if it is a terminal;
/// standard output is for results. It disappears with the object, or by clear(). Each process
/// counts its own share.
class CommandProgress {
 public:
  /// `what` names the counted items, "lines".
  explicit CommandProgress(std::string what);

  /// Draws the line, at most ten times a second.
  void show(index_t done, index_t total);
  /// Removes the line before results are printed.
  void clear() { line_.clear(); }

 private:
  std::string what_;
  DrawnLine line_;
  bool terminal_;
  std::chrono::steady_clock::time_point begun_, shown_;
};

/// "1:05:09", "0:21".
std::string clock_time(double seconds);

/// A number with `digits` digits after the point, in any locale.
std::string fixed(double value, int digits);

}  // namespace tessera::examples
