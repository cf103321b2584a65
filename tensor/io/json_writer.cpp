#include "tensor/io/json_writer.h"

#include <array>
#include <charconv>

namespace tessera {

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

}  // namespace tessera
