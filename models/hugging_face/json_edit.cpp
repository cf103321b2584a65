#include "models/hugging_face/json_edit.h"

#include <algorithm>

#include "tensor/io/file.h"
#include "tensor/io/json_writer.h"

namespace tessera::models {

namespace {

/// The keys and values, each after `before`.
std::string members(const JsonChanges& values, const char* before) {
  std::string text;
  for (const auto& [key, value] : values) {
    if (!text.empty()) text += ',';
    text += before + json_quoted(key) + ": " + value;
  }
  return text;
}

}  // namespace

std::string json_object(const JsonChanges& values) {
  return "{" + members(values, "\n  ") + "\n}\n";
}

std::string json_value(const JsonChanges& values) {
  return "{" + members(values, " ") + " }";
}

std::string edited(const Json& object, const JsonChanges& changes) {
  JsonChanges values;
  for (const Json& value : object.items()) {
    values.emplace_back(value.key(), "");
    write_json(value, values.back().second);
  }
  for (const auto& [key, value] : changes) {
    const auto old = std::ranges::find(values, key, &JsonChanges::value_type::first);
    if (old == values.end()) {
      values.emplace_back(key, value);
    } else {
      old->second = value;
    }
  }
  return json_object(values);
}

std::string json_list(std::span<const std::string> texts, const char* op) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ", ";
    list += json_quoted(text, op);
  }
  return list += ']';
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace tessera::models
