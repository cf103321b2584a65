// Numbers in text, whatever the program's locale.
#pragma once

#include <charconv>
#include <concepts>
#include <string_view>
#include <system_error>

namespace tessera {

/// Whether all of `text` is a number in plain decimal that T can hold; otherwise `value` does not
/// change. For float and double, "inf" and "nan" are numbers too.
template <std::integral T>
bool parse_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}
bool parse_number(std::string_view text, float& value);
bool parse_number(std::string_view text, double& value);

}  // namespace tessera
