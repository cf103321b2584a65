// Numbers in text, independent of the program's locale.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace tessera {

/// The kind of a text: a number, one that the type cannot hold, or something else.
class ParsedNumber {
 public:
  explicit ParsedNumber(std::errc error) : error_(error) {}
  operator bool() const { return error_ == std::errc(); }
  bool is_out_of_range() const { return error_ == std::errc::result_out_of_range; }

 private:
  std::errc error_;
};

/// Whether all of `text` is a number in plain decimal that T can hold; otherwise `value` does not
/// change. For float and double, "inf" and "nan" are numbers too.
template <class T>
requires std::is_arithmetic_v<T> ParsedNumber parse_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  T number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (rest != end) return ParsedNumber(std::errc::invalid_argument);
  if (error == std::errc()) value = number;
  return ParsedNumber(error);
}

}  // namespace tessera
