#include "models/text/pipeline/json_text.h"

#include <array>
#include <charconv>

namespace tessera::text {

namespace {

template <class T>
void write_number(T value, std::string& out) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
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
      write_number(json.integer(), out);
      return;
    case Json::Kind::kNumber:
      write_number(json.number(), out);
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

}  // namespace tessera::text
