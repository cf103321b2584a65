#include "examples/programs/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <locale>
#include <sstream>

#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr std::chrono::milliseconds kBarInterval{100};
constexpr std::chrono::seconds kLineInterval{10};
constexpr index_t kCells = 20;

std::string bar(double fraction, index_t length) {
  const auto full =
      static_cast<index_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(length));
  std::string cells;
  for (index_t i = 0; i < length; ++i) cells += i < full ? "█" : "░";
  return cells;
}

std::size_t clipped(index_t length) {
  return static_cast<std::size_t>(std::max<index_t>(length, 0));
}

}  // namespace

index_t terminal_columns(int stream) {
  struct winsize size = {};
  const bool is_known = isatty(stream) == 1 && ioctl(stream, TIOCGWINSZ, &size) == 0;
  return is_known ? size.ws_col : 0;
}

std::string clock_time(double seconds) {
  const double whole = std::isfinite(seconds) ? std::clamp(std::round(seconds), 0.0, 3.5e6) : 3.5e6;
  const auto total = static_cast<index_t>(whole);
  const auto two = [](index_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string minutes_seconds = ":" + two(total % 60);
  if (total < 3600) return std::to_string(total / 60) + minutes_seconds;
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + minutes_seconds;
}

std::string fixed(double value, int digits) {
  return str_cat(std::fixed, std::setprecision(digits), value);
}

Progress::Progress()
    : terminal_(terminal_columns(STDOUT_FILENO) > 0), shown_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  clear();
  std::cout.flush();
}

void Progress::show(const Standing& s) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_ ? drawn_ && now - shown_ < kBarInterval : now - shown_ < kLineInterval) return;
  shown_ = now;
  const std::string percent = fixed(100 * s.fraction, 0);
  const std::string rest = "  loss " + fixed(s.loss, 4) + "  " + fixed(s.tokens_per_second, 0) +
                           " tokens/s  " + clock_time(s.seconds_left) + " left";
  const std::string epoch = str_cat("epoch ", s.epoch, "/", s.epochs, "  ");
  if (terminal_) {
    // A line that wraps could not be drawn over: the bar shrinks, then the text is cut.
    const std::string behind = " " + percent + " %" + rest;
    const index_t room = terminal_columns(STDOUT_FILENO) - 1 - std::ssize(epoch);
    const index_t cells = std::clamp<index_t>(room - std::ssize(behind), 0, kCells);
    std::cout << "\r\x1b[K" << epoch.substr(0, clipped(room + std::ssize(epoch)))
              << bar(s.fraction, cells) << behind.substr(0, clipped(room - cells)) << std::flush;
    drawn_ = true;
  } else {
    std::cout << epoch << percent << " %" << rest << std::endl;
  }
}

void Progress::line(const std::string& text) {
  clear();
  std::cout << text << std::endl;
  shown_ = std::chrono::steady_clock::now();
}

void Progress::clear() {
  if (drawn_) std::cout << "\r\x1b[K";
  drawn_ = false;
}

}  // namespace tessera::examples
