// **Errors**: a user's mistake throws std::invalid_argument with the text
//   op: X must be RULE, got VALUE; cure
// and a broken file throws std::runtime_error with the text
//   FILE: PLACE: X must be RULE, got VALUE; cure
// Untrusted text, such as names in files, is escaped before it is printed.
#pragma once

#include <cstddef>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

/// `text` with `\xNN` in place of each byte that cannot be printed: control characters (zero
/// bytes, line ends, terminal commands, marks that change the direction of writing) and bytes that
/// are not UTF-8. All other characters remain, so a text that is escaped already does not change.
/// A text of more than `most` bytes is cut, and ends in "...".
std::string escaped(std::string_view text, std::size_t most = std::string_view::npos);

/// `text`, escaped, cut after 80 bytes and in quotes: 'encoder.w'.
std::string printable(std::string_view text);

/// Joins its arguments as `<<` prints them: `str_cat("axis ", 3, " of ", shape)`. Numbers are
/// printed as in the C locale, because files are written with this function too.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios::badbit);  // otherwise a failed allocation would leave out text
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

/// Throws std::invalid_argument with the text `op: parts...`.
template <class... Parts>
[[noreturn]] void fail(const char* op, const Parts&... parts) {
  throw std::invalid_argument(str_cat(op, ": ", parts...));
}

/// Throws std::invalid_argument with the text `op: parts...` if `condition` is false.
/// The parts are formatted only on failure.
template <class... Parts>
void require(bool condition, const char* op, const Parts&... parts) {
  if (!condition) fail(op, parts...);
}

/// Throws std::invalid_argument: the option called `what` must be one of its enum's values.
template <class Enum>
[[noreturn]] void fail_enum(const char* op, const char* what, Enum value) {
  fail(op, what, " must be one of its enum's values, got ", static_cast<long long>(value));
}

/// As fail_enum, unless `value` is one of the enum's values, which count from 0 to `last`.
template <class Enum>
void require_enum(const char* op, const char* what, Enum value, Enum last) {
  if (value < Enum{} || value > last) fail_enum(op, what, value);
}

/// Throws std::runtime_error with the text `file: parts...`, where `file` is escaped; the parts
/// begin with the place.
template <class... Parts>
[[noreturn]] void fail_file(const std::string& file, const Parts&... parts) {
  throw std::runtime_error(str_cat(escaped(file), ": ", parts...));
}

}  // namespace tessera
