// Errors: a user's mistake throws std::invalid_argument whose text names the op, what it wanted and
// what it got; a broken file throws std::runtime_error with the file's name and the place.
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tessera {

/// Joins its arguments as `<<` prints them: `str_cat("axis ", 3, " of ", shape)`. Whatever the
/// program's locale, numbers look as in C: files are written with it too.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

/// Throws std::invalid_argument with the text `op: parts...`.
template <class... Parts>
[[noreturn]] void fail(const char* op, const Parts&... parts) {
  throw std::invalid_argument(str_cat(op, ": ", parts...));
}

/// Throws std::invalid_argument with the text `op: parts...` unless `condition` holds.
/// The parts are formatted only on failure.
template <class... Parts>
void require(bool condition, const char* op, const Parts&... parts) {
  if (!condition) fail(op, parts...);
}

/// Throws std::runtime_error with the text `file: parts...`; the parts begin with the place.
template <class... Parts>
[[noreturn]] void fail_file(const std::string& file, const Parts&... parts) {
  throw std::runtime_error(str_cat(file, ": ", parts...));
}

}  // namespace tessera
