// The standard streams of cli.h: errors, texts and progress.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <ctime>
#include <iostream>

#include <tessera/models/text/utf8.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include "examples/named_error.h"
#include "examples/programs/cli.h"

namespace tessera::examples {

namespace {

using Clock = std::chrono::steady_clock;

/// The text on one line, shortened if it is long.
std::string one_line(const std::string& text) {
  constexpr std::size_t kLongest = 400;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end > begin && !line.empty() && line.back() != ' ') line += line.back() == ':' ? " " : "; ";
    line += escaped(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  if (line.size() <= kLongest) return line;
  std::size_t end = kLongest;
  while (end > 0 && text::continues_code_point(line[end])) --end;  // only complete characters
  return line.substr(0, end) + " ...";
}

}  // namespace

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) break;
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

int report_error(const std::string& name, const std::string& error) {
  std::cout.flush();
  const std::string line = one_line(named_error(name, error)) + '\n';
  std::cerr << line << std::flush;  // one write: others write too
  return 2;
}

std::string escaped_line(std::string_view line) {
  std::string shown;
  for (std::size_t tab; (tab = line.find('\t')) != std::string_view::npos;) {
    shown += escaped(line.substr(0, tab)) + '\t';
    line.remove_prefix(tab + 1);
  }
  return shown + escaped(line);
}

std::string clock_time(double seconds) {
  const double whole = std::isfinite(seconds) ? std::clamp(std::round(seconds), 0.0, 3.5e6) : 3.5e6;
  const auto total = static_cast<index_t>(whole);
  const auto two = [](index_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::string minutes_seconds = ":" + two(total % 60);
  if (total < 3600) return std::to_string(total / 60) + minutes_seconds;
  return std::to_string(total / 3600) + ":" + two(total / 60 % 60) + minutes_seconds;
}

std::string utc_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  std::array<char, 64> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

bool StatusLine::draw(const std::function<std::string()>& text) {
  constexpr std::chrono::milliseconds kInterval{100};
  struct winsize size = {};
  if (isatty(stream_) != 1 || ioctl(stream_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return false;
  }
  if (Clock::now() - drawn_ < kInterval) return true;
  drawn_ = Clock::now();
  is_drawn_ = true;
  const std::size_t columns = size.ws_col - 1U;  // a wrapped line could not be overwritten
  (stream_ == STDOUT_FILENO ? std::cout : std::cerr)
      << "\r\x1b[K" << text().substr(0, columns) << std::flush;
  return true;
}

void StatusLine::clear() {
  if (!is_drawn_) return;
  (stream_ == STDOUT_FILENO ? std::cout : std::cerr) << "\r\x1b[K" << std::flush;
  is_drawn_ = false;
  drawn_ = {};  // the next line is drawn at once
}

void Progress::show(index_t done, index_t total) {
  if (done == total) return line_.clear();
  line_.draw([&] {
    const double rate =
        static_cast<double>(done) / std::chrono::duration<double>(Clock::now() - begun_).count();
    const double percent = 100 * static_cast<double>(done) / static_cast<double>(total);
    return str_cat(done, '/', total, ' ', what_, "  ", decimals(percent, 0), " %  ",
                   decimals(rate, rate < 10 ? 1 : 0), ' ', what_, "/s  ",
                   clock_time(static_cast<double>(total - done) / rate), " left");
  });
}

}  // namespace tessera::examples
