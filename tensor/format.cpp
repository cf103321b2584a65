#include "tessera/tensor/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "tessera/tensor/detail/parse_number.h"

namespace tessera {

namespace {

/// The text of to_chars with these arguments, but "nan" for a NaN with a sign too.
template <class T, class... Arguments>
std::string to_text(T value, Arguments... arguments) {
  if (std::isnan(value)) return "nan";
  std::string text(350, '\0');  // more than the largest number has before the point
  for (;; text.resize(2 * text.size())) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, arguments...);
    if (end.ec == std::errc())
      return text.substr(0, static_cast<std::size_t>(end.ptr - text.data()));
  }
}

void strip_zeros(std::string& digits) {
  digits.erase(digits.find_last_not_of('0') + 1);
}

/// The text before and after the point, and the exponent with its sign; empty without one.
struct Parts {
  std::string whole, fraction, exponent;

  explicit Parts(std::string_view text) {
    const std::size_t e = std::min(text.find('e'), text.size());
    const std::size_t point = std::min(text.find('.'), e);
    whole = text.substr(0, point);
    if (point < e) fraction = text.substr(point + 1, e - point - 1);
    if (e < text.size()) exponent = text.substr(e + 1);
  }
};

/// At most `precision` digits after the point.
template <class T>
Parts positional(T value, int precision) {
  Parts parts(to_text(value, std::chars_format::fixed));
  if (std::ssize(parts.fraction) > precision) {
    parts = Parts(decimals(static_cast<double>(value), precision));
    strip_zeros(parts.fraction);
  }
  return parts;
}

/// With `places` digits after the point, correctly rounded. Digits beyond the shortest are those of
/// the exact value: 0.1f with eight places is 1.00000001e-01.
template <class T>
Parts scientific(T value, int places) {
  Parts parts(to_text(value, std::chars_format::scientific));
  if (std::ssize(parts.fraction) == places) return parts;
  const std::string exact =
      to_text(static_cast<double>(value), std::chars_format::scientific, places);
  T read_back{};
  parse_number(exact, read_back);
  if (std::ssize(parts.fraction) > places || read_back == value) return Parts(exact);
  // Below a power of two the next number is twice as near, and the nearest decimal may read as that
  // number.
  parts.fraction.resize(static_cast<std::size_t>(places), '0');
  return parts;
}

/// All with the same number of digits: the most that any of them needs.
template <class T>
std::vector<Parts> all_scientific(const std::vector<T>& values, int precision) {
  index_t places = 0;
  for (const T value : values) {
    std::string fraction = Parts(to_text(value, std::chars_format::scientific)).fraction;
    if (std::ssize(fraction) > precision) {
      fraction = scientific(value, precision).fraction;
      strip_zeros(fraction);
    }
    places = std::max(places, std::ssize(fraction));
  }
  std::vector<Parts> parts;
  for (const T value : values) parts.push_back(scientific(value, static_cast<int>(places)));
  return parts;
}

/// Whether the finite values are printed with an exponent.
template <class T>
bool wants_exponent(const std::vector<T>& values, bool suppress) {
  T largest = 0;
  T smallest = std::numeric_limits<T>::infinity();
  for (const T value : values) {
    if (value == T{0}) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  if (largest == T{0}) return false;
  // The bounds are doubles and the quotient has the tensor's own precision, as in NumPy.
  if (static_cast<double>(largest) >= 1e8) return true;
  return !suppress && (static_cast<double>(smallest) < 0.0001 || largest / smallest > T{1000});
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
  std::size_t total() const { return whole + 1 + fraction + (exponent > 0 ? exponent + 1 : 0); }
};

std::string padded(const Parts& number, const Widths& widths) {
  std::string text(widths.whole - number.whole.size(), ' ');
  text += number.whole + '.' + number.fraction;
  text.append(widths.fraction - number.fraction.size(), ' ');
  if (number.exponent.empty()) return text;
  text += {'e', number.exponent.front()};
  text.append(widths.exponent - number.exponent.size(), '0');
  return text + number.exponent.substr(1);
}

template <class T>
std::string non_finite(T value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

}  // namespace

std::string shortest(float value) {
  return to_text(value);
}
std::string shortest(double value) {
  return to_text(value);
}
std::string decimals(double value, int digits) {
  return to_text(value, std::chars_format::fixed, digits);
}
std::string significant(double value, int digits) {
  return to_text(value, std::chars_format::general, digits);
}

template <class T>
std::string format_scalar(T value) {
  if (!std::isfinite(value)) return non_finite(value);
  const double size = std::abs(static_cast<double>(value));
  if (size != 0 && (size < 1e-4 || size >= 1e16)) {
    return to_text(value, std::chars_format::scientific);
  }
  double shown = 0;  // has zeros after the shortest digits of a float
  parse_number(to_text(value, std::chars_format::scientific), shown);
  const std::string text = to_text(shown, std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
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
  if (wants_exponent(finite, suppress)) {
    parts = all_scientific(finite, precision);
  } else {
    for (const T value : finite) parts.push_back(positional(value, precision));
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

template std::vector<std::string> format_floats(const std::vector<float>&, int, bool);
template std::vector<std::string> format_floats(const std::vector<double>&, int, bool);
template std::string format_scalar(float);
template std::string format_scalar(double);

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

std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t texts) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (i < texts ? row[i] + blanks : blanks + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + '\n';
  }
  return table;
}

}  // namespace tessera
