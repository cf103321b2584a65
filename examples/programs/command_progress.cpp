#include "examples/programs/command_progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "examples/programs/progress.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

CommandProgress::CommandProgress(std::string what, index_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(terminal_columns(STDERR_FILENO) > 0),
      begun_(Clock::now()),
      shown_(begun_) {}

void CommandProgress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void CommandProgress::show(index_t done, index_t total) {
  total_ = total;
  show(done);
}

void CommandProgress::show(index_t done) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - shown_ < kInterval || done < 1) return;
  shown_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = static_cast<double>(done) / seconds;
  const auto part = static_cast<double>(done) / static_cast<double>(total_);
  const std::string line = str_cat(done, '/', total_, ' ', what_, "  ", fixed(100 * part, 0),
                                   " %  ", fixed(rate, rate < 10 ? 1 : 0), ' ', what_, "/s  ",
                                   clock_time(static_cast<double>(total_ - done) / rate), " left");
  // A line that wraps could not be drawn over.
  const index_t columns = std::max<index_t>(terminal_columns(STDERR_FILENO), 1);
  std::cerr << "\r\x1b[K" << line.substr(0, static_cast<std::size_t>(columns - 1)) << std::flush;
}

}  // namespace tessera::examples
