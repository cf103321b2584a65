#include "tensor/detail/parse_number.h"

#if !defined(__cpp_lib_to_chars)
#include <locale.h>
#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <string>
#endif

namespace tessera {

namespace {

#if defined(__cpp_lib_to_chars)
using detail::parse_characters;
#else  // libc++ before 20 reads integers only
double read(const char* text, char** rest, locale_t locale, double) {
  return strtod_l(text, rest, locale);
}
float read(const char* text, char** rest, locale_t locale, float) {
  return strtof_l(text, rest, locale);
}

template <class T>
ParsedNumber parse_characters(std::string_view text, T& value) {
  if (text.empty() || text.find_first_of(" \t\n\v\f\r+xX") == 0 ||
      text.find_first_of("xX") != text.npos) {
    return ParsedNumber(std::errc::invalid_argument);  // the C library accepts these
  }
  static const locale_t kC = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string copy(text);
  char* rest = nullptr;
  errno = 0;
  const T read_value = read(copy.c_str(), &rest, kC, T());
  const bool is_lost = errno == ERANGE && (read_value == 0 || std::isinf(read_value));
  if (rest != copy.c_str() + copy.size()) return ParsedNumber(std::errc::invalid_argument);
  if (is_lost) return ParsedNumber(std::errc::result_out_of_range);
  value = read_value;
  return ParsedNumber(std::errc());
}
#endif

}  // namespace

ParsedNumber parse_number(std::string_view text, float& value) {
  return parse_characters(text, value);
}
ParsedNumber parse_number(std::string_view text, double& value) {
  return parse_characters(text, value);
}

}  // namespace tessera
