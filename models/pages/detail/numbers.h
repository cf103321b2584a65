// Numbers as they stand on pages, whatever the program's locale.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

#include "tensor/error.h"

namespace tessera::pages {

/// `value` with `digits` digits after the point; "nan" and "inf" too.
inline std::string decimals(double value, int digits) {
  std::array<char, 400> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::fixed, digits);
  return error == std::errc() ? std::string(text.data(), end) : str_cat(value);
}

/// `value` with `digits` digits that count.
inline std::string significant(double value, int digits) {
  std::array<char, 400> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value,
                                          std::chars_format::general, digits);
  return error == std::errc() ? std::string(text.data(), end) : str_cat(value);
}

/// `value` as logs have it: six digits that count, and whole numbers whole.
inline std::string number_text(double value) {
  constexpr double kMostWhole = 1e15;
  if (!(std::abs(value) < kMostWhole) || value != std::trunc(value)) return str_cat(value);
  return str_cat(static_cast<std::int64_t>(value));
}

}  // namespace tessera::pages
