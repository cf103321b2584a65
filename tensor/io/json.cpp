// Text to a JSON document: nlohmann's parser, the document built from its events, and its values.
#include "tensor/io/json.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tensor/detail/keyed_hash.h"
#include "tensor/detail/parse_number.h"
#include "tensor/io/file.h"

namespace tessera {

/// A value or a key, at its first byte, which determines its kind. Nodes are in the order of the
/// file: a list is followed by its values, an object by a key, its value, the next key, ... Nodes
/// are small, because an untrusted file may consist of short values only.
struct Json::Node {
  std::uint32_t begin : 31;
  std::uint32_t keyed : 1;  // the node before is its key
  std::uint32_t size = 0;   // of a text or number: in bytes; of a list or an object: the next node

  Node(std::size_t at, bool has_key)
      : begin(static_cast<std::uint32_t>(at) & 0x7fffffff), keyed(has_key ? 1 : 0) {}
};

struct Json::Document {
  std::string file;
  std::string bytes;  // escapes in texts are resolved in place
  std::vector<Node> nodes;

  char first(std::uint32_t node) const { return bytes[nodes[node].begin]; }
  bool nests(std::uint32_t node) const { return first(node) == '[' || first(node) == '{'; }
  std::string_view text(std::uint32_t node) const {
    return std::string_view(bytes).substr(nodes[node].begin + 1, nodes[node].size);
  }
  std::uint32_t after(std::uint32_t node) const {
    return nests(node) ? nodes[node].size : node + 1;
  }
};

namespace {

/// Functions that walk over a document may recurse this far, whatever a caller's limit is.
constexpr index_t kMostDepth = 1000;

}  // namespace

/// Stores the events of a non-recursive parser in the document's own bytes: each value overwrites
/// text that the parser has already read, since no value is longer than its text. The functions
/// that return bool are the events, under the library's names.
struct Json::Builder : nlohmann::json::json_sax_t {
  Document& document;
  const JsonLimits& limits;
  std::size_t kept = 0;                  // bytes of the document that hold values now
  std::vector<std::uint32_t> open = {};  // the lists and objects around the next value
  bool keyed = false;                    // a key was read, and its value is next

  Builder(Document& into, const JsonLimits& most) : document(into), limits(most) { reserve(); }

  /// Reserves room for all values at once: growing would take twice the memory. There are fewer
  /// values than half the bytes, and pages that are not written to take no memory.
  void reserve() {
    const auto seen = std::count_if(document.bytes.begin(), document.bytes.end(), [](char c) {
      return c == ',' || c == ':' || c == '[' || c == '{';
    });
    document.nodes.reserve(
        static_cast<std::size_t>(std::clamp<index_t>(seen + 1, 0, limits.values)));
  }

  void keep(std::string_view text) {
    std::copy(text.begin(), text.end(), document.bytes.data() + kept);
    kept += text.size();
  }
  /// A node at the end of the bytes kept so far.
  Node& add() {
    if (std::ssize(document.nodes) >= limits.values) {
      fail_file(document.file, "must have at most ", limits.values, " values");
    }
    return document.nodes.emplace_back(kept, std::exchange(keyed, false));
  }
  /// A number or a word, as it is written, or a text after a quote.
  bool put(std::string_view text, std::string_view quote = "") {
    add().size = static_cast<std::uint32_t>(text.size());
    keep(quote);
    keep(text);
    return true;
  }

  bool null() override { return put("null"); }
  bool boolean(bool truth) override { return put(truth ? "true" : "false"); }
  bool number_integer(std::int64_t number) override {  // with a sign
    return put(number == 0 ? "-0" : std::to_string(number));
  }
  bool number_unsigned(std::uint64_t number) override { return put(std::to_string(number)); }
  bool number_float(double, const std::string& text) override { return put(text); }
  bool string(std::string& text) override { return put(text, "\""); }
  bool key(std::string& text) override {
    put(text, "\"");
    return keyed = true;
  }

  bool start(std::string_view bracket) {
    const index_t most = std::min(limits.depth, kMostDepth);
    if (std::ssize(open) >= most) {
      fail_file(document.file, "lists and objects must be at most ", most, " deep");
    }
    add();
    keep(bracket);
    open.push_back(static_cast<std::uint32_t>(document.nodes.size() - 1));
    return true;
  }
  std::uint32_t end() {
    const std::uint32_t ended = open.back();
    document.nodes[ended].size = static_cast<std::uint32_t>(document.nodes.size());
    open.pop_back();
    return ended;
  }
  bool start_array(std::size_t) override { return start("["); }
  bool end_array() override { return end(), true; }
  bool start_object(std::size_t) override { return start("{"); }
  bool end_object() override { return refuse_equal_keys(end()), true; }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // no event of JSON text
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    fail_file(document.file, "byte ", position - 1, ": must be JSON, got ", printable(token));
  }

  void refuse_equal_keys(std::uint32_t object) const {
    std::size_t count = 0;
    const std::uint32_t stop = document.nodes[object].size;
    for (std::uint32_t key = object + 1; key < stop; key = document.after(key + 1)) ++count;
    if (count < 2) return;
    std::vector<std::uint32_t> places(std::bit_ceil(2 * count));  // 0: free; the top is not a key
    const KeyedHash hash;
    for (std::uint32_t key = object + 1; key < stop; key = document.after(key + 1)) {
      const std::string_view own = document.text(key);
      std::size_t place = hash(own) & (places.size() - 1);
      for (; places[place] != 0; place = (place + 1) & (places.size() - 1)) {
        if (document.text(places[place]) != own) continue;
        fail_file(document.file, "keys of an object must be different, got ", printable(own),
                  " twice");
      }
      places[place] = key;
    }
  }
};

namespace {

/// A parser holds several copies of a text while it reads it, so long texts are refused.
void refuse_long_texts(std::string_view json, const std::string& file) {
  bool quoted = false;
  std::size_t begin = 0;
  const auto end_text = [&](std::size_t end) {
    if (static_cast<index_t>(end - begin) > kMaxJsonText) {
      fail_file(file, "byte ", begin, ": a text must have at most ", kMaxJsonText, " bytes");
    }
    begin = end + 1;
  };
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (c == '"' || (!quoted && (c == ',' || c == ' ' || c == '\n'))) {
      end_text(at);
      quoted = quoted != (c == '"');
    } else if (quoted && c == '\\') {
      ++at;
    }
  }
  end_text(json.size());
}

/// Whether a number is written as an integer, except -0, because its sign would be lost.
bool is_integer(std::string_view written) {
  return written.find_first_of(".eE") == std::string_view::npos && written != "-0";
}

/// nullopt for an integer that does not fit.
std::optional<index_t> integer_of(std::string_view written) {
  index_t value = 0;
  return parse_number(written, value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Json parse_json(std::string text, const std::string& file, const JsonLimits& limits) {
  const index_t most = std::min<index_t>(limits.bytes, std::numeric_limits<std::int32_t>::max());
  if (std::ssize(text) > most) {
    fail_file(file, "must have at most ", most, " bytes, got ", text.size());
  }
  const std::size_t zero = text.find('\0');  // a parser may treat it as the end
  if (zero != std::string::npos) fail_file(file, "byte ", zero, ": must not be a zero byte");
  refuse_long_texts(text, file);
  auto document = std::make_shared<Json::Document>();
  document->file = file;
  document->bytes = std::move(text);
  Json::Builder builder(*document, limits);
  const std::string_view bytes = document->bytes;
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &builder);
  document->bytes.resize(builder.kept);
  return {std::move(document), 0};
}

const Json::Node& Json::node() const {
  return document_->nodes[node_];
}

/// A number as the file has it.
std::string_view Json::written() const {
  return std::string_view(document_->bytes).substr(node().begin, node().size);
}

Json::Kind Json::kind() const {
  switch (document_->first(node_)) {
    case 'n':
      return Kind::kNull;
    case 't':
    case 'f':
      return Kind::kBoolean;
    case '"':
      return Kind::kText;
    case '[':
      return Kind::kList;
    case '{':
      return Kind::kObject;
    default:
      return is_integer(written()) && integer_of(written()) ? Kind::kInteger : Kind::kNumber;
  }
}

void Json::want(Kind kind, const char* what) const {
  if (this->kind() != kind) fail("must be ", what, ", got ", described());
}

bool Json::boolean() const {
  want(Kind::kBoolean, "true or false");
  return document_->first(node_) == 't';
}

index_t Json::integer(JsonRange range) const {
  if (kind() == Kind::kInteger) {
    const index_t value = *integer_of(written());
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
  if (kind() == Kind::kInteger) return static_cast<double>(*integer_of(written()));
  want(Kind::kNumber, "a number");
  double value = 0;  // not changed if the number underflows
  parse_number(written(), value);
  return value;
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
  for (const Json& value : as_object().items()) {
    if (value.key() == key) return value.is_null() ? std::nullopt : std::optional(value);
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

Json::Items Json::items() const {
  if (!is_object()) want(Kind::kList, "a list or an object");
  const std::uint32_t key = is_object() ? 1 : 0;
  return {Json(document_, node_ + 1 + key), Json(document_, node().size + key)};
}

Json::Items::Iterator& Json::Items::Iterator::operator++() {
  const std::uint32_t key = at_.node().keyed;
  at_.node_ = at_.document_->after(at_.node_) + key;
  return *this;
}

index_t Json::size() const {
  index_t count = 0;
  for ([[maybe_unused]] const Json& value : items()) ++count;
  return count;
}

Json Json::item(index_t i) const {
  index_t left = i;
  for (const Json& value : as_list().items()) {
    if (left-- == 0) return value;
  }
  fail("must have more than ", i, " values, got ", size());
}

std::string_view Json::key() const {
  return node().keyed != 0 ? document_->text(node_ - 1) : std::string_view();
}

/// The path to a value from the top. Nodes do not store it, because only errors need it.
std::string Json::path() const {
  std::string path;
  for (Json around(document_, 0); around.node_ != node_;) {
    index_t place = 0;
    for (const Json& value : around.items()) {
      if (document_->after(value.node_) <= node_) {  // ends before this value
        ++place;
        continue;
      }
      if (value.node().keyed != 0) {
        path += (path.empty() ? "" : ".") + std::string(value.key().substr(0, 100));
      } else {
        path += str_cat('[', place, ']');
      }
      around = value;
      break;
    }
  }
  return path;
}

std::string Json::place() const {
  const std::string within = path();
  if (within.empty()) return document_->file;
  return document_->file + ": " + escaped(within, 80);
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
  return parse_json(std::move(text), file.name(), limits);
}

std::optional<Json> find_json(const std::filesystem::path& path, const JsonLimits& limits) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  return read_json(path, limits);
}

}  // namespace tessera
