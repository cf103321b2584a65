#include "examples/command_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <utility>

#include "examples/progress.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr std::size_t kUsualColumns = 80;

std::size_t terminal_columns() {
  struct winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

}  // namespace

CommandProgress::CommandProgress(std::string what, index_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) == 1),
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
  const std::string line = format(done, '/', total_, ' ', what_, "  ", fixed(100 * part, 0), " %  ",
                                  fixed(rate, rate < 10 ? 1 : 0), ' ', what_, "/s  ",
                                  clock_time(static_cast<double>(total_ - done) / rate), " left");
  // A line that wraps could not be drawn over.
  std::cerr << "\r\x1b[K" << line.substr(0, terminal_columns() - 1) << std::flush;
}

}  // namespace tessera::examples
