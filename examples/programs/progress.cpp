#include "examples/programs/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <utility>

#include "tensor/error.h"

namespace tessera::examples {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDrawInterval{100};
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

std::ostream& stream_of(int stream) {
  return stream == STDOUT_FILENO ? std::cout : std::cerr;
}

}  // namespace

DrawnLine::DrawnLine(int stream) : stream_(stream) {}

index_t DrawnLine::columns() const {
  struct winsize size = {};
  const bool is_known = isatty(stream_) == 1 && ioctl(stream_, TIOCGWINSZ, &size) == 0;
  return is_known ? size.ws_col : 0;
}

void DrawnLine::draw(const std::string& line) {
  stream_of(stream_) << "\r\x1b[K" << line << std::flush;
  drawn_ = true;
}

void DrawnLine::clear() {
  if (drawn_) stream_of(stream_) << "\r\x1b[K" << std::flush;
  drawn_ = false;
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

Progress::Progress() : bar_(STDOUT_FILENO), terminal_(bar_.columns() > 0), shown_(Clock::now()) {}

void Progress::show(const Standing& s) {
  const Clock::time_point now = Clock::now();
  if (terminal_ ? begun_ && now - shown_ < kDrawInterval : now - shown_ < kLineInterval) return;
  shown_ = now;
  begun_ = true;
  const std::string percent = fixed(100 * s.fraction, 0);
  const std::string rest = "  loss " + fixed(s.loss, 4) + "  " + fixed(s.tokens_per_second, 0) +
                           " tokens/s  " + clock_time(s.seconds_left) + " left";
  const std::string epoch = str_cat("epoch ", s.epoch, "/", s.epochs, "  ");
  if (!terminal_) {
    std::cout << epoch << percent << " %" << rest << std::endl;
    return;
  }
  // A wrapped line could not be overwritten: first the bar shrinks, then the text is cut.
  const std::string behind = " " + percent + " %" + rest;
  const index_t room = bar_.columns() - 1 - std::ssize(epoch);
  const index_t cells = std::clamp<index_t>(room - std::ssize(behind), 0, kCells);
  bar_.draw(epoch.substr(0, clipped(room + std::ssize(epoch))) + bar(s.fraction, cells) +
            behind.substr(0, clipped(room - cells)));
}

void Progress::line(const std::string& text) {
  bar_.clear();
  std::cout << text << std::endl;
  shown_ = Clock::now();
  begun_ = false;
}

CommandProgress::CommandProgress(std::string what)
    : what_(std::move(what)),
      line_(STDERR_FILENO),
      terminal_(line_.columns() > 0),
      begun_(Clock::now()),
      shown_(begun_) {}

void CommandProgress::show(index_t done, index_t total) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - shown_ < kDrawInterval || done < 1) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double rate = static_cast<double>(done) / seconds;
  const auto part = static_cast<double>(done) / static_cast<double>(total);
  const std::string line = str_cat(done, '/', total, ' ', what_, "  ", fixed(100 * part, 0), " %  ",
                                   fixed(rate, rate < 10 ? 1 : 0), ' ', what_, "/s  ",
                                   clock_time(static_cast<double>(total - done) / rate), " left");
  line_.draw(line.substr(0, clipped(std::max<index_t>(line_.columns(), 1) - 1)));
}

}  // namespace tessera::examples
