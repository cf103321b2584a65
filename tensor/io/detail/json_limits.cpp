#include "tessera/tensor/io/detail/json_limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "tessera/tensor/error.h"

namespace tessera::detail {

namespace {

/// Functions that walk over a document may recurse this far, whatever a caller's limit is.
constexpr index_t kMostDepth = 1000;

/// The position after the quote that ends a text whose first byte is at `at`.
std::size_t after_text(std::string_view json, std::size_t at) {
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at + 1;
}

constexpr std::array<std::pair<std::string_view, double>, 3> kNotFiniteNames = {
    {{"NaN", std::numeric_limits<double>::quiet_NaN()},
     {"Infinity", std::numeric_limits<double>::infinity()},
     {"-Infinity", -std::numeric_limits<double>::infinity()}}};

/// Whether the text is a number by the grammar of JSON.
bool is_number(std::string_view text) {
  const auto skip_digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool starts_with_zero =
      text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
  if (starts_with_zero || !skip_digits()) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!skip_digits()) return false;
  }
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return text.empty();
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return skip_digits() && text.empty();
}

/// The value of a number that float64 lacks, as in Python: `NaN`, `Infinity`, `-Infinity`, 1e999.
std::optional<double> not_finite(std::string_view text) {
  for (const auto& [name, number] : kNotFiniteNames) {
    if (text == name) return number;
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc::result_out_of_range || stop != end || !is_number(text)) return {};
  // Too large or too small: without its point, which depends on the locale, it stays so.
  std::string digits(text);
  std::erase(digits, '.');
  const double limit = std::strtod(digits.c_str(), nullptr);
  return std::isinf(limit) ? std::optional(limit) : std::nullopt;
}

}  // namespace

std::vector<JsonNotFinite> check_limits(std::string_view json, const std::string& file,
                                        const JsonLimits& limits) {
  if (std::ssize(json) > limits.bytes) {
    fail_file(file, "must have at most ", limits.bytes, " bytes, got ", json.size());
  }
  constexpr std::string_view kEnds = ",:]} \t\r\n";
  const index_t most_depth = std::min(limits.depth, kMostDepth);
  std::vector<JsonNotFinite> found;
  index_t depth = 0, values = 0;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at++];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' || c == ':') continue;
    if (c == ']' || c == '}') {
      --depth;
      continue;
    }
    if (++values > limits.values) fail_file(file, "must have at most ", limits.values, " values");
    if (c == '[' || c == '{') {
      if (++depth <= most_depth) continue;
      fail_file(file, "lists and objects must be at most ", most_depth, " deep");
    }
    const std::size_t begin = at - 1;
    at = c == '"' ? after_text(json, at) : std::min(json.find_first_of(kEnds, at), json.size());
    const std::optional<double> number = not_finite(json.substr(begin, at - begin));
    if (number) found.push_back({values, begin, at - begin, *number});
  }
  return found;
}

}  // namespace tessera::detail
