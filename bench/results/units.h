// Numbers for people: a fixed number of digits, and fitting units.
#pragma once

#include <string>

namespace tessera::results {

/// `digits` digits in all: "1.23", "12.3", "123"; more if the integer part is longer.
std::string digits_text(double value, int digits);
/// "4.21 us", "1.70 ms".
std::string seconds_text(double seconds, int digits = 3);
/// Three digits, as below: "12.3 MB": 10^6 bytes.
std::string bytes_text(double bytes);
/// Four digits and the letter of a power of 1000, to be followed by a unit: "281.3 G".
std::string scaled_text(double value);

}  // namespace tessera::results
