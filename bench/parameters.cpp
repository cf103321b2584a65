#include "bench/parameters.h"

#include <algorithm>

#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"

namespace tessera::bench {

namespace {

/// Parts between `separator`s, empty ones too.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

template <class... Words>
void Parameters::refuse(const Words&... words) const {
  throw std::invalid_argument(str_cat("'", name_, "': ", words...));
}

Parameters::Parameters(std::string name) : name_(std::move(name)) {
  const std::vector<std::string> parts = split(name_, '/');
  kind_ = parts.front();
  if (kind_.empty() || kind_.find(':') != std::string::npos) {
    refuse("must begin with a kind, as matmul/M:128/N:768/K:768 does");
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t colon = parts[i].find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == parts[i].size()) {
      refuse("parts after / must be key:value, got '", parts[i], "'");
    }
    Part part = {parts[i].substr(0, colon), parts[i].substr(colon + 1)};
    const auto same = [&](const Part& other) { return other.key == part.key; };
    if (std::any_of(parts_.begin(), parts_.end(), same))
      refuse(part.key, " must be given only once");
    parts_.push_back(std::move(part));
  }
}

const std::string* Parameters::find(const char* key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  for (Part& part : parts_) {
    if (part.key != key) continue;
    part.used = true;
    return &part.value;
  }
  return nullptr;
}

bool Parameters::has(const char* key) {
  return find(key) != nullptr;
}

index_t Parameters::whole(const char* key, const std::string& text, index_t low,
                          index_t high) const {
  index_t value = 0;
  if (!parse_number(text, value) || value < low || value > high) {
    refuse(key, " must be an integer from ", low, " to ", high, ", got '", text, "'");
  }
  return value;
}

index_t Parameters::size(const char* key, std::optional<index_t> otherwise, index_t low,
                         index_t high) {
  const std::string* const text = find(key);
  if (text != nullptr) return whole(key, *text, low, high);
  if (!otherwise) refuse(key, " is missing; give it as ", key, ":128");
  return *otherwise;
}

index_t Parameters::divisor(const char* key, index_t whole) {
  const index_t count = size(key, whole, 1, whole);
  if (whole % count != 0) refuse(key, " must divide ", whole, ", got ", count);
  return count;
}

std::optional<index_t> Parameters::optional_size(const char* key, index_t low) {
  if (!has(key)) return {};
  return size(key, {}, low);
}

std::vector<index_t> Parameters::sizes(const char* key, std::size_t count) {
  const std::string* const text = find(key);
  if (text == nullptr) refuse(key, " is missing");
  const std::vector<std::string> words = split(*text, ',');
  if (words.size() != count) {
    refuse(key, " must be ", count, " numbers separated by commas, got '", *text, "'");
  }
  std::vector<index_t> values;
  for (const std::string& word : words) values.push_back(whole(key, word, 1, kMost));
  return values;
}

double Parameters::fraction(const char* key, double otherwise) {
  const std::string* const text = find(key);
  if (text == nullptr) return otherwise;
  double value = 0;
  if (!parse_number(*text, value) || !(value >= 0 && value < 1)) {
    refuse(key, " must be at least 0 and below 1, got '", *text, "'");
  }
  return value;
}

bool Parameters::flag(const char* key) {
  return choice(key, {"0", "1"}) == "1";
}

std::string Parameters::choice(const char* key, std::initializer_list<const char*> choices) {
  const std::string* const text = find(key);
  if (text == nullptr) return "";
  if (std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    refuse(key, " must be one of ", joined({choices.begin(), choices.end()}), ", got '", *text,
           "'");
  }
  return *text;
}

DType Parameters::dtype() {
  return choice("dtype", {"float32", "float64"}) == "float64" ? kFloat64 : kFloat32;
}

void Parameters::finish() const {
  for (const Part& part : parts_) {
    if (!part.used)
      refuse("keys of ", kind_, " must be ", joined(known_), ", got '", part.key, "'");
  }
}

}  // namespace tessera::bench
