// Values to JSON text.
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "tensor/error.h"
#include "tensor/io/json.h"

namespace tessera {

namespace {

template <class T>
std::string digits_of(T value) {
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string quoted(std::string_view text, const char* op = "json") {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(op, "text must be UTF-8, got ", printable(text));
  }
}

/// A number that is not an integer in the file stays so: some readers distinguish 1.0 from 1.
std::string number_text(double value) {
  const std::string digits = digits_of(value);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

void append(const Json& json, std::string& out) {
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
      out += quoted(json.text());
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
    if (json.is_object()) (out += quoted(value.key())) += ':';
    append(value, out);
  }
  out += json.is_list() ? ']' : '}';
}

}  // namespace

JsonText::JsonText(const Json& json) {
  append(json, text_);
}
JsonText::JsonText(std::string_view text, const char* op) : text_(quoted(text, op)) {}

JsonText JsonText::written(std::string json) {
  JsonText text;
  text.text_ = std::move(json);
  return text;
}

std::string JsonText::number(float value) {
  return std::isfinite(value) ? digits_of(value) : "null";
}
std::string JsonText::number(double value) {
  return std::isfinite(value) ? digits_of(value) : "null";
}

JsonText::JsonText(JsonGroup group) : text_(std::move(group.text_)) {
  (text_ += group.layout_.after) += group.close_;
}

void JsonGroup::add_sign() {
  text_ += text_.size() == 1 ? layout_.before : layout_.between;
}

JsonList& JsonList::add(const JsonText& value) {
  add_sign();
  text_ += value.text();
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonText& value) {
  add_sign();
  ((text_ += quoted(key)) += layout_.colon) += value.text();
  return *this;
}
JsonObject& JsonObject::add(const JsonMembers& members) {
  for (const auto& [key, value] : members) add(key, value);
  return *this;
}

}  // namespace tessera
