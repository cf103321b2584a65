#include "models/text/pipeline/json_text.h"

#include "models/text/pipeline/step_list.h"

#include <array>
#include <charconv>

namespace tessera::text {

namespace {

template <class T>
std::string digits_of(T value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

/// What is no integer in the file becomes none: some readers tell 1.0 from 1.
std::string number_text(double value) {
  const std::string digits = digits_of(value);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

}  // namespace

void write_json(const Json& json, std::string& out) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      out += "null";
      return;
    case Json::Kind::kBoolean:
      out += json.boolean() ? "true" : "false";
      return;
    case Json::Kind::kInteger:
      out += digits_of(json.integer());
      return;
    case Json::Kind::kNumber:
      out += number_text(json.number());
      return;
    case Json::Kind::kText:
      out += json_quoted(json.text());
      return;
    case Json::Kind::kList:
    case Json::Kind::kObject:
      break;
  }
  out += json.is_list() ? '[' : '{';
  bool first = true;
  for (const Json& value : json.items()) {
    if (!first) out += ',';
    first = false;
    if (json.is_object()) (out += json_quoted(value.key())) += ':';
    write_json(value, out);
  }
  out += json.is_list() ? ']' : '}';
}

namespace {

void add_steps(const Json& sequence, std::string_view key, std::vector<Json>& steps) {
  constexpr std::ptrdiff_t kMostSteps = 100;
  for (const Json& step : sequence.at(key).items()) {
    if (step.is_object() && step.text("type", "") == "Sequence") {
      add_steps(step, key, steps);
      continue;
    }
    if (std::ssize(steps) == kMostSteps) sequence.fail("more than ", kMostSteps, " steps");
    steps.push_back(step);
  }
}

}  // namespace

std::vector<Json> step_list(const Json& sequence, std::string_view key) {
  std::vector<Json> steps;
  add_steps(sequence, key, steps);
  return steps;
}

}  // namespace tessera::text
