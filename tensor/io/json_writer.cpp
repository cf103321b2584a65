// Values to JSON text.
#include <cmath>
#include <utility>

#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/detail/utf8.h"
#include "tensor/io/json.h"

namespace tessera {

namespace {

std::string quoted(std::string_view text, const char* op = "json") {
  constexpr std::string_view kHex = "0123456789abcdef", kSigns = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string result = "\"";
  result.reserve(text.size() + 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = detail::code_point_size(text.substr(at));
    if (size == 0) fail(op, "text must be UTF-8, got ", printable(text));
    const auto code = static_cast<unsigned char>(text[at]);
    const std::size_t sign = kSigns.find(text[at]);
    if (sign != std::string_view::npos) {
      result += {'\\', kLetters[sign]};
    } else if (code < 0x20) {
      (result += "\\u00") += {kHex[code / 16], kHex[code % 16]};
    } else {
      result += text.substr(at, size);
    }
    at += size;
  }
  return result += '"';
}

/// A number that is not an integer in the file stays so: some readers distinguish 1.0 from 1.
std::string number_text(double value) {
  const std::string digits = shortest(value);
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
      out += std::to_string(json.integer());
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
  return std::isfinite(value) ? shortest(value) : "null";
}
std::string JsonText::number(double value) {
  return std::isfinite(value) ? shortest(value) : "null";
}

void JsonText::insert(const JsonSpacing& spacing, std::string_view value) {
  const char close = text_.back();
  const bool is_first = text_.size() == 2;
  text_.resize(text_.size() - 1 - (is_first ? 0 : spacing.after.size()));
  (text_ += is_first ? spacing.before : spacing.between) += value;
  (text_ += spacing.after) += close;
}

JsonList& JsonList::add(const JsonText& value) {
  insert(spacing_, value.text());
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonText& value) {
  insert(spacing_, (quoted(key) += spacing_.colon) += value.text());
  return *this;
}
JsonObject& JsonObject::add(const JsonMembers& members) {
  for (const auto& [key, value] : members) add(key, value);
  return *this;
}

}  // namespace tessera
