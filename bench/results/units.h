// Numbers for people: a fixed number of digits, and units that fit.
#pragma once

#include <cstddef>
#include <string>

namespace tessera::results {

/// So many digits in all: "1.23", "12.3", "123", and more where it is larger.
std::string digits_text(double value, int digits);
/// "4.21 us", "1.70 ms".
std::string seconds_text(double seconds, int digits = 3);
/// Three digits, as all below: "12.3 MB": 10^6 bytes.
std::string bytes_text(double bytes);

/// `text` in a column of `width` bytes.
std::string right(const std::string& text, std::size_t width);
std::string left(const std::string& text, std::size_t width);

}  // namespace tessera::results
