#include "tensor/io/detail/json_limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "tensor/error.h"

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

/// The value of a number that float64 lacks, as in Python: `NaN`, `Infinity`, `-Infinity`, 1e999.
std::optional<double> not_finite(std::string_view text) {
  for (const auto& [name, number] : kNotFiniteNames) {
    if (text == name) return number;
  }
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool may_be_large = digits.size() > 300 || digits.find_first_of("eE") != digits.npos;
  if (!may_be_large || digits.find_first_not_of("0123456789.eE+-") != digits.npos) return {};
  const double number = std::strtod(std::string(text).c_str(), nullptr);
  return std::isinf(number) ? std::optional(number) : std::nullopt;
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
