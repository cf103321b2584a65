#include "tensor/detail/number_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "tensor/detail/parse_number.h"

namespace tessera {

namespace {

/// The decimal digits of a finite number: +-0.d1 d2 d3 ... times 10^point.
struct Digits {
  bool negative;
  std::string digits;
  int point;

  int fraction_length() const { return std::max(0, static_cast<int>(digits.size()) - point); }
};

/// Reads the output of to_chars with an exponent: [-]d[.ddd]e(+|-)dd.
Digits parse_scientific(std::string_view text) {
  Digits result{text.front() == '-', {}, 0};
  if (result.negative) text.remove_prefix(1);
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  std::string_view exponent = text.substr(e + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.point);
  ++result.point;
  return result;
}

/// The shortest digits that read back as the same T.
template <class T>
Digits shortest(T value) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  return parse_scientific({buffer.data(), end.ptr});
}

/// The value with exactly `count` >= 1 digits, correctly rounded. Digits beyond the shortest are
/// those of the exact value: 0.1f with nine digits is 1.00000001e-01.
template <class T>
Digits exactly(T value, int count) {
  Digits number = shortest(value);
  if (std::ssize(number.digits) == count) return number;
  std::string buffer(static_cast<std::size_t>(count) + 16, '\0');
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<double>(value),
                    std::chars_format::scientific, count - 1);
  T read_back{};
  parse_number({buffer.data(), end.ptr}, read_back);
  if (std::ssize(number.digits) > count || read_back == value) {
    return parse_scientific({buffer.data(), end.ptr});
  }
  // Below a power of two the next number is twice as near, and the nearest decimal may read as that
  // number.
  number.digits.resize(static_cast<std::size_t>(count), '0');
  return number;
}

void strip_zeros(std::string& digits) {
  digits.erase(digits.find_last_not_of('0') + 1);
}

/// The text before and after the point, and the exponent's digits (empty without one).
struct Parts {
  std::string whole, fraction, exponent;
  bool exponent_negative = false;
};

/// The value rounded correctly to `places` digits after the point.
Parts fixed_parts(double value, int places) {
  std::string buffer(static_cast<std::size_t>(places) + 330, '\0');
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::fixed, places);
  const std::string_view text(buffer.data(), end.ptr);
  const std::size_t point = std::min(text.find('.'), text.size());
  Parts parts{std::string(text.substr(0, point)), {}, {}};
  if (point < text.size()) parts.fraction = text.substr(point + 1);
  strip_zeros(parts.fraction);
  return parts;
}

/// The shortest digits, with zeros up to the point if they end before it.
Parts shortest_parts(const Digits& number) {
  const auto point = static_cast<std::size_t>(std::max(number.point, 0));
  std::string digits(static_cast<std::size_t>(std::max(-number.point, 0)), '0');
  digits += number.digits;
  if (digits.size() < point) digits.append(point - digits.size(), '0');
  Parts parts{number.negative ? "-" : "", digits.substr(point), {}};
  parts.whole += point > 0 ? digits.substr(0, point) : "0";
  strip_zeros(parts.fraction);
  return parts;
}

/// At most `precision` digits after the point. Large floats whose shortest digits end before the
/// point show the digits of the exact value instead.
template <class T>
Parts positional_parts(T value, int precision) {
  const Digits number = shortest(value);
  if (number.fraction_length() > precision) {
    return fixed_parts(static_cast<double>(value), precision);
  }
  if (static_cast<int>(number.digits.size()) < number.point) {
    return fixed_parts(static_cast<double>(value), 0);
  }
  return shortest_parts(number);
}

Parts scientific_parts(const Digits& number) {
  Parts parts;
  if (number.negative) parts.whole = '-';
  parts.whole += number.digits.front();
  parts.fraction = number.digits.substr(1);
  const int exponent = number.point - 1;
  if (std::abs(exponent) < 10) parts.exponent = '0';
  parts.exponent += std::to_string(std::abs(exponent));
  parts.exponent_negative = exponent < 0;
  return parts;
}

template <class T>
std::string non_finite(T value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

/// Whether the finite values are printed with an exponent.
template <class T>
bool wants_exponent(const std::vector<T>& values, bool suppress) {
  T largest = 0;
  T smallest = std::numeric_limits<T>::infinity();
  for (const T value : values) {
    if (!std::isfinite(value) || value == T{0}) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  if (largest == T{0}) return false;
  // The bounds are doubles and the quotient has the tensor's own precision, as in NumPy.
  if (static_cast<double>(largest) >= 1e8) return true;
  return !suppress && (static_cast<double>(smallest) < 0.0001 || largest / smallest > T{1000});
}

/// All with the same number of digits: the most that any of them needs.
template <class T>
std::vector<Parts> all_scientific(const std::vector<T>& values, int precision) {
  int count = 1;
  for (const T value : values) {
    std::string digits = shortest(value).digits;
    if (std::ssize(digits) > precision + 1) {
      digits = exactly(value, precision + 1).digits;
      strip_zeros(digits);
    }
    count = std::max(count, static_cast<int>(digits.size()));
  }
  std::vector<Parts> parts;
  for (const T value : values) parts.push_back(scientific_parts(exactly(value, count)));
  return parts;
}

/// The widths that a column of numbers shares.
struct Widths {
  std::size_t whole = 0, fraction = 0, exponent = 0;

  explicit Widths(const std::vector<Parts>& numbers) {
    for (const Parts& number : numbers) {
      whole = std::max(whole, number.whole.size());
      fraction = std::max(fraction, number.fraction.size());
      exponent = std::max(exponent, number.exponent.size());
    }
  }
  std::size_t right() const { return fraction + (exponent > 0 ? exponent + 2 : 0); }
  std::size_t total() const { return whole + 1 + right(); }
};

std::string padded(const Parts& number, const Widths& widths) {
  std::string text(widths.whole - number.whole.size(), ' ');
  text += number.whole + '.' + number.fraction;
  text.append(widths.fraction - number.fraction.size(), ' ');
  if (number.exponent.empty()) return text;
  text += number.exponent_negative ? "e-" : "e+";
  text.append(widths.exponent - number.exponent.size(), '0');
  return text + number.exponent;
}

}  // namespace

std::vector<std::string> format_integers(const std::vector<index_t>& values) {
  std::vector<std::string> words;
  std::size_t width = 0;
  for (const index_t value : values) {
    words.push_back(std::to_string(value));
    width = std::max(width, words.back().size());
  }
  for (std::string& word : words) word.insert(0, width - word.size(), ' ');
  return words;
}

template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values, int precision, bool suppress) {
  std::vector<T> finite;
  std::size_t special_width = 0;
  for (const T value : values) {
    if (std::isfinite(value)) {
      finite.push_back(value);
    } else {
      special_width = std::max(special_width, non_finite(value).size());
    }
  }
  std::vector<Parts> parts;
  if (wants_exponent(values, suppress)) {
    parts = all_scientific(finite, precision);
  } else {
    for (const T value : finite) parts.push_back(positional_parts(value, precision));
  }
  Widths widths(parts);
  if (special_width > widths.total()) widths.whole += special_width - widths.total();

  std::vector<std::string> words;
  auto next = parts.begin();
  for (const T value : values) {
    if (std::isfinite(value)) {
      words.push_back(padded(*next++, widths));
    } else {
      const std::string word = non_finite(value);
      words.push_back(std::string(widths.total() - word.size(), ' ') + word);
    }
  }
  return words;
}

template <class T>
std::string format_scalar(T value) {
  if (!std::isfinite(value)) return non_finite(value);
  const double size = std::abs(static_cast<double>(value));
  if (size == 0 || (size >= 1e-4 && size < 1e16)) {
    const Parts parts = shortest_parts(shortest(value));
    return parts.whole + '.' + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  const Parts parts = scientific_parts(shortest(value));
  return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) +
         (parts.exponent_negative ? "e-" : "e+") + parts.exponent;
}

template std::vector<std::string> format_floats(const std::vector<float>&, int, bool);
template std::vector<std::string> format_floats(const std::vector<double>&, int, bool);
template std::string format_scalar(float);
template std::string format_scalar(double);

}  // namespace tessera
