#include "examples/programs/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>

#include "examples/named_error.h"
#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace tessera::examples {

namespace {

constexpr std::size_t kLongestError = 400;

/// The text on one line, shortened if it is long.
std::string one_line(const std::string& text) {
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    if (end > begin && !line.empty() && line.back() != ' ') line += line.back() == ':' ? " " : "; ";
    line += escaped(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  if (line.size() <= kLongestError) return line;
  std::size_t end = kLongestError;
  while (end > 0 && text::continues_code_point(line[end])) --end;  // only complete characters
  return line.substr(0, end) + " ...";
}

void occupy_closed_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace

std::string escaped_line(std::string_view line) {
  std::string shown;
  for (std::size_t tab; (tab = line.find('\t')) != std::string_view::npos;) {
    shown += escaped(line.substr(0, tab)) + '\t';
    line.remove_prefix(tab + 1);
  }
  return shown + escaped(line);
}

void prepare_streams() {
  occupy_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);
}

std::string error_text(const std::string& advice) {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    return str_cat(error.what(), " more", advice);
  } catch (const std::bad_alloc&) {
    return "out of memory" + advice;
  } catch (const std::exception& error) {
    return error.what();
  }
}

int report_error(const std::string& name, const std::string& error) {
  std::cout.flush();
  const std::string line = one_line(named_error(name, error)) + '\n';
  std::cerr << line << std::flush;  // one write: others write too
  return 2;
}

}  // namespace tessera::examples
