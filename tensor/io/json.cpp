// Text to a JSON document, by nlohmann's parser, with limits; its values; and values to text.
#include "tessera/tensor/io/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/tensor/detail/keyed_hash.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/io/detail/json_limits.h"
#include "tessera/tensor/io/file.h"

namespace tessera {

using detail::check_limits;
using detail::JsonNotFinite;

namespace {

/// The members of an object in the file's order. nlohmann's ordered_map compares each new key with
/// all others, which takes minutes for a vocabulary; here, prepare() refuses equal keys.
template <class Key, class Value, class Less, class Allocator>
struct Members : std::vector<std::pair<Key, Value>> {
  using key_type = Key;
  using mapped_type = Value;
  using key_compare = Less;

  Value& operator[](Key key) { return this->emplace_back(std::move(key), Value()).second; }
};

using Dom = nlohmann::basic_json<Members>;

const Dom& dom_of(const void* value) {
  return *static_cast<const Dom*>(value);
}
const Dom::array_t& list_of(const Dom& value) {
  return value.get_ref<const Dom::array_t&>();
}
const Dom::object_t& members_of(const Dom& value) {
  return value.get_ref<const Dom::object_t&>();
}

/// Refuses equal keys in an object, gives -0 its sign, which the parser drops, and sets the numbers
/// that the parser would refuse. `values` counts values and keys; `left` are the numbers from this
/// value on.
void prepare(Dom& value, const std::string& file, index_t& values,
             std::span<const JsonNotFinite>& left) {
  ++values;
  if (!left.empty() && left.front().value == values) {
    value = left.front().number;
    left = left.subspan(1);
  } else if (value.is_object()) {
    auto& members = value.get_ref<Dom::object_t&>();
    std::unordered_set<std::string_view, KeyedHash> keys(members.size());
    for (auto& [key, inner] : members) {
      if (!keys.insert(key).second) {
        fail_file(file, "keys of an object must be different, got ", printable(key), " twice");
      }
      ++values;
      prepare(inner, file, values, left);
    }
  } else if (value.is_array()) {
    for (Dom& inner : value.get_ref<Dom::array_t&>()) prepare(inner, file, values, left);
  } else if (value.is_number_integer() && !value.is_number_unsigned() && value == 0) {
    value = -0.0;
  }
}

Dom parsed(std::string_view text, const std::string& file) {
  const std::size_t zero = text.find('\0');  // the parser treats it as the end
  if (zero != std::string::npos) fail_file(file, "byte ", zero, ": must not be a zero byte");
  try {
    return Dom::parse(text.begin(), text.end());
  } catch (const Dom::parse_error& error) {
    constexpr std::size_t kShown = 20;
    const std::size_t end = std::min(error.byte, text.size());
    const std::string_view before = text.substr(end - std::min(end, kShown), std::min(end, kShown));
    fail_file(file, "byte ", error.byte - 1, ": must be JSON, got ", printable(before));
  } catch (const Dom::out_of_range& error) {
    fail_file(file, "must be JSON, got a number beyond float64: ", escaped(error.what(), 120));
  }
}

/// The path from a value to one that it contains: ".labels[3]"; nothing if it does not contain it.
std::optional<std::string> path_between(const Dom& from, const void* to) {
  if (&from == to) return "";
  if (from.is_object()) {
    for (const auto& [key, value] : members_of(from)) {
      if (auto rest = path_between(value, to)) return "." + key + *rest;
    }
  }
  if (from.is_array()) {
    const Dom::array_t& list = list_of(from);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (auto rest = path_between(list[i], to)) return str_cat('[', i, ']', *rest);
    }
  }
  return std::nullopt;
}

/// The text of a value, in which NaN and infinities are written as in Python.
JsonText text_of(const Dom& value) {
  if (value.is_object()) {
    JsonObject object;
    for (const auto& [key, inner] : members_of(value)) object.add(key, text_of(inner));
    return object;
  }
  if (value.is_array()) return json_list(list_of(value), text_of);
  if (!value.is_number_float() || std::isfinite(value.get<double>())) {
    return JsonText::written(value.dump());
  }
  const auto number = value.get<double>();
  return JsonText::written(std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
}

std::string quoted(std::string_view text, const char* op = "json") {
  try {
    return Dom(text).dump();
  } catch (const Dom::type_error&) {
    fail(op, "text must be UTF-8, got ", printable(text));
  }
}

}  // namespace

struct Json::Document {
  std::string file;
  Dom top;
  bool is_finite;  // no number is NaN or infinite
};

Json parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::vector<JsonNotFinite> numbers = check_limits(text, file, limits);
  std::string plain;  // with zeros in the places of `numbers`
  if (!numbers.empty()) plain = text;
  for (const JsonNotFinite& each : numbers) {
    plain.replace(each.begin, each.size, "0" + std::string(each.size - 1, ' '));
  }
  auto document = std::make_shared<Json::Document>(
      Json::Document{file, parsed(numbers.empty() ? text : plain, file), numbers.empty()});
  index_t values = 0;
  std::span<const JsonNotFinite> left = numbers;
  prepare(document->top, file, values, left);
  const Dom& top = document->top;
  return {std::move(document), &top};
}

Json::Kind Json::kind() const {
  const Dom& value = dom_of(value_);
  switch (value.type()) {
    case Dom::value_t::boolean:
      return Kind::kBoolean;
    case Dom::value_t::string:
      return Kind::kText;
    case Dom::value_t::array:
      return Kind::kList;
    case Dom::value_t::object:
      return Kind::kObject;
    case Dom::value_t::number_integer:
      return Kind::kInteger;
    case Dom::value_t::number_unsigned:
      return std::in_range<index_t>(value.get<std::uint64_t>()) ? Kind::kInteger : Kind::kNumber;
    case Dom::value_t::number_float:
      return Kind::kNumber;
    default:
      return Kind::kNull;
  }
}

void Json::want(Kind kind, const char* what) const {
  if (this->kind() != kind) fail("must be ", what, ", got ", described());
}

bool Json::boolean() const {
  want(Kind::kBoolean, "true or false");
  return dom_of(value_).get<bool>();
}

index_t Json::integer(JsonRange range) const {
  if (kind() == Kind::kInteger) {
    const auto value = dom_of(value_).get<index_t>();
    if (value >= range.low && value <= range.high) return value;
  }
  const JsonRange all;
  if (range.low == all.low && range.high == all.high) fail("must be an integer, got ", described());
  if (range.high == all.high) {
    fail("must be an integer of at least ", range.low, ", got ", described());
  }
  fail("must be an integer from ", range.low, " to ", range.high, ", got ", described());
}

double Json::number() const {
  if (kind() != Kind::kInteger) want(Kind::kNumber, "a number");
  const auto number = dom_of(value_).get<double>();
  if (!std::isfinite(number)) fail("must be a finite number, got ", described());
  return number;
}

std::string_view Json::text() const {
  want(Kind::kText, "a text");
  return dom_of(value_).get_ref<const std::string&>();
}

Json Json::as_list() const {
  want(Kind::kList, "a list");
  return *this;
}

Json Json::as_object() const {
  want(Kind::kObject, "an object");
  return *this;
}

std::optional<Json> Json::find(std::string_view key) const {
  want(Kind::kObject, "an object");
  for (const auto& [own, value] : members_of(dom_of(value_))) {
    if (own != key) continue;
    return value.is_null() ? std::nullopt : std::optional(Json(document_, &value, own));
  }
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  std::optional<Json> found = find(key);
  if (!found) fail("must have a value for ", printable(key));
  return *found;
}

bool Json::boolean(std::string_view key, std::optional<bool> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->boolean() : *otherwise;
}

index_t Json::integer(std::string_view key, JsonRange range,
                      std::optional<index_t> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->integer(range) : *otherwise;
}

double Json::number(std::string_view key, std::optional<double> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? found->number() : *otherwise;
}

std::string Json::text(std::string_view key, std::optional<std::string> otherwise) const {
  const std::optional<Json> found = otherwise ? find(key) : at(key);
  return found ? std::string(found->text()) : std::move(*otherwise);
}

index_t Json::size() const {
  if (!is_object()) want(Kind::kList, "a list or an object");
  return static_cast<index_t>(dom_of(value_).size());
}

Json Json::child(std::size_t i) const {
  const Dom& around = dom_of(value_);
  if (!around.is_object()) return {document_, &list_of(around)[i]};
  const auto& [key, value] = members_of(around).data()[i];
  return {document_, &value, key};
}

Json::Items Json::items() const {
  size();  // checks the kind
  return Items(*this);
}

Json Json::item(index_t i) const {
  want(Kind::kList, "a list");
  if (i < 0 || i >= size()) fail("must have more than ", i, " values, got ", size());
  return child(static_cast<std::size_t>(i));
}

std::string_view Json::key() const {
  return key_;
}

std::string Json::place() const {
  std::string path = path_between(document_->top, value_).value_or("");
  if (path.starts_with('.')) path.erase(0, 1);
  if (path.empty()) return document_->file;
  return document_->file + ": " + escaped(path, 80);
}

std::string Json::described() const {
  switch (kind()) {
    case Kind::kText:
      return "the text " + printable(text());
    case Kind::kList:
      return "a list";
    case Kind::kObject:
      return "an object";
    default:
      return JsonText(*this).text();
  }
}

Json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  const InputFile file(path);
  refuse_incomplete_download(file);
  if (file.size() > limits.bytes) {
    fail_file(file.name(), "must have at most ", limits.bytes, " bytes, got ", file.size());
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return parse_json(text, file.name(), limits);
}

std::optional<Json> find_json(const std::filesystem::path& path, const JsonLimits& limits) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error) fail_file(path.string(), error.message());  // such as links in a circle
  return exists ? std::optional(read_json(path, limits)) : std::nullopt;
}

JsonText::JsonText(const Json& json)
    : JsonText(json.document_->is_finite ? written(dom_of(json.value_).dump())
                                         : text_of(dom_of(json.value_))) {}
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
