#include "tensor/io/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tensor/io/file.h"

namespace tessera {

/// Values and keys in the order in which they stand in the file: a list is followed by its values,
/// an object by a key, its value, the next key, ... The parser may make a long list of short ones,
/// so a node is small.
struct Json::Node {
  union {
    bool truth;
    index_t integer;
    double number;
    std::size_t text;  // where it begins among the document's texts
    index_t count;     // of values in a list or an object
  };
  std::uint32_t size = 0;  // of a text, in bytes
  std::uint32_t next = 0;  // of a list or an object: the node after its last
  std::uint32_t parent = 0;
  Kind kind = Kind::kNull;
  bool keyed = false;  // the node before is its key
};

struct Json::Document {
  std::string file;
  std::vector<Node> nodes;
  std::string texts;

  std::string_view text(std::uint32_t node) const {
    return std::string_view(texts).substr(nodes[node].text, nodes[node].size);
  }
  std::uint32_t after(std::uint32_t node) const {
    const bool nests = nodes[node].kind == Kind::kList || nodes[node].kind == Kind::kObject;
    return nests ? nodes[node].next : node + 1;
  }
};

/// Builds a document from the events of a JSON parser, which knows no recursion. The functions that
/// return bool are the events, under the library's names.
struct Json::Builder : nlohmann::json::json_sax_t {
  Document& document;
  const JsonLimits& limits;
  std::vector<std::uint32_t> open;  // the lists and objects around the next value
  bool keyed = false;

  Builder(Document& into, const JsonLimits& most) : document(into), limits(most) {}

  Node& add(Kind kind) {
    if (std::ssize(document.nodes) >= limits.values) {
      fail_file(document.file, "more than ", limits.values, " values");
    }
    Node& node = document.nodes.emplace_back();
    node.kind = kind;
    node.integer = 0;
    if (!open.empty()) node.parent = open.back();
    return node;
  }
  Node& value(Kind kind) {
    if (!open.empty()) ++document.nodes[open.back()].count;
    Node& node = add(kind);
    node.keyed = std::exchange(keyed, false);
    return node;
  }
  void set_text(Node& node, const std::string& text) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
      fail_file(document.file, "a text of ", text.size(), " bytes");
    }
    node.text = document.texts.size();
    node.size = static_cast<std::uint32_t>(text.size());
    document.texts += text;
  }

  bool null() override { return value(Kind::kNull), true; }
  bool boolean(bool truth) override { return value(Kind::kBoolean).truth = truth, true; }
  bool number_integer(std::int64_t number) override {  // with a sign
    if (number == 0) return value(Kind::kNumber).number = -0.0, true;
    return value(Kind::kInteger).integer = number, true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<index_t>::max())) {
      return value(Kind::kNumber).number = static_cast<double>(number), true;
    }
    return value(Kind::kInteger).integer = static_cast<index_t>(number), true;
  }
  bool number_float(double number, const std::string&) override {
    return value(Kind::kNumber).number = number, true;
  }
  bool string(std::string& text) override { return set_text(value(Kind::kText), text), true; }
  bool key(std::string& text) override {
    set_text(add(Kind::kText), text);
    keyed = true;
    return true;
  }
  bool start(Kind kind) {
    if (std::ssize(open) >= limits.depth) {
      fail_file(document.file, "lists and objects inside each other more than ", limits.depth,
                " deep");
    }
    value(kind);
    open.push_back(static_cast<std::uint32_t>(document.nodes.size() - 1));
    return true;
  }
  bool end() {
    document.nodes[open.back()].next = static_cast<std::uint32_t>(document.nodes.size());
    open.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return start(Kind::kList); }
  bool end_array() override { return end(); }
  bool start_object(std::size_t) override { return start(Kind::kObject); }
  bool end_object() override {
    const std::uint32_t object = open.back();
    end();
    refuse_equal_keys(object);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // no event of JSON text
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    fail_file(document.file, "byte ", position - 1, ": not JSON, at ", printable(token));
  }

  void refuse_equal_keys(std::uint32_t object) const {
    std::vector<std::string_view> keys;
    for (std::uint32_t at = object + 1; at < document.nodes[object].next;) {
      keys.push_back(document.text(at));
      at = document.after(at + 1);
    }
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      fail_file(document.file, "the key ", printable(*twice), " stands twice in one object");
    }
  }
};

const Json::Node& Json::node() const {
  return document_->nodes[node_];
}

Json::Kind Json::kind() const {
  return node().kind;
}

void Json::want(Kind kind, const char* what) const {
  if (this->kind() != kind) fail("wanted ", what, ", got ", described());
}

bool Json::boolean() const {
  want(Kind::kBoolean, "true or false");
  return node().truth;
}

index_t Json::integer(JsonRange range) const {
  const bool fits =
      kind() == Kind::kInteger && node().integer >= range.low && node().integer <= range.high;
  if (fits) return node().integer;
  const JsonRange all;
  if (range.low == all.low && range.high == all.high) fail("wanted an integer, got ", described());
  if (range.high == all.high) {
    fail("wanted an integer from ", range.low, " on, got ", described());
  }
  fail("wanted an integer from ", range.low, " to ", range.high, ", got ", described());
}

double Json::number() const {
  if (kind() == Kind::kInteger) return static_cast<double>(node().integer);
  want(Kind::kNumber, "a number");
  return node().number;
}

std::string_view Json::text() const {
  want(Kind::kText, "a text");
  return document_->text(node_);
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
  for (std::uint32_t at = node_ + 1; at < node().next; at = document_->after(at + 1)) {
    if (document_->text(at) != key) continue;
    const Json found(document_, at + 1);
    if (found.is_null()) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  std::optional<Json> found = find(key);
  if (!found) fail("there is no ", printable(key));
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
  return node().count;
}

Json::Items Json::items() const {
  size();  // which checks the kind
  return Items(*this);
}

Json Json::item(index_t i) const {
  want(Kind::kList, "a list");
  if (i < 0 || i >= size()) fail("wanted more than ", i, " values, got ", size());
  Items::Iterator at = items().begin();
  while (i-- > 0) ++at;
  return *at;
}

Json::Items::Iterator Json::Items::begin() const {
  const index_t count = of_.size();
  if (count == 0) return end();
  return {Json(of_.document_, of_.node_ + (of_.is_object() ? 2U : 1U)), count};
}

Json::Items::Iterator& Json::Items::Iterator::operator++() {
  const std::uint32_t next = at_.document_->after(at_.node_);
  if (--left_ > 0) at_.node_ = next + (at_.node().keyed ? 1U : 0U);
  return *this;
}

std::string_view Json::key() const {
  return node().keyed ? document_->text(node_ - 1) : std::string_view();
}

std::string Json::path() const {
  if (node_ == 0) return {};
  const Json parent(document_, node().parent);
  const std::string before = parent.path();
  if (node().keyed) {
    return before + (before.empty() ? "" : ".") + std::string(key().substr(0, 80));
  }
  index_t place = 0;
  for (std::uint32_t at = parent.node_ + 1; at < node_; at = document_->after(at)) ++place;
  return before + format('[', place, ']');
}

std::string Json::place() const {
  const std::string within = path();
  if (within.empty()) return document_->file;
  std::string shown = printable(within);
  return document_->file + ": " + shown.substr(1, shown.size() - 2);  // without the quotes
}

std::string Json::described() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return node().truth ? "true" : "false";
    case Kind::kInteger:
      return format(node().integer);
    case Kind::kNumber:
      return nlohmann::json(node().number).dump();
    case Kind::kText:
      return "the text " + printable(text());
    case Kind::kList:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  __builtin_unreachable();
}

Json parse_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  if (std::ssize(text) > limits.bytes) {
    fail_file(file, text.size(), " bytes, more than the ", limits.bytes, " that are read");
  }
  // The JSON library takes a zero byte for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) fail_file(file, "byte ", zero, ": a zero byte");
  auto document = std::make_shared<Json::Document>();
  document->file = file;
  Json::Builder builder(*document, limits);
  nlohmann::json::sax_parse(text, &builder);
  document->nodes.shrink_to_fit();
  document->texts.shrink_to_fit();
  return {std::move(document), 0};
}

Json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  const InputFile file(path);
  if (file.size() > limits.bytes) {
    fail_file(file.name(), file.size(), " bytes, more than the ", limits.bytes, " that are read");
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return parse_json(text, file.name(), limits);
}

std::optional<Json> find_json(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_json(path);
}

std::string json_quoted(std::string_view text, const char* op) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(op, "not UTF-8: ", printable(text));
  }
}

}  // namespace tessera
