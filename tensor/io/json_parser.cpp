// Text to a JSON document: nlohmann's parser, and the document built from its events.
#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tensor/detail/keyed_hash.h"
#include "tensor/io/detail/json_document.h"
#include "tensor/io/file.h"

namespace tessera {

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
  /// A number or a word, as it is written.
  bool plain(std::string_view text) {
    add().size = static_cast<std::uint32_t>(text.size());
    keep(text);
    return true;
  }
  bool quoted(std::string_view text) {
    add().size = static_cast<std::uint32_t>(text.size());
    keep("\"");
    keep(text);
    return true;
  }

  bool null() override { return plain("null"); }
  bool boolean(bool truth) override { return plain(truth ? "true" : "false"); }
  bool number_integer(std::int64_t number) override {  // with a sign
    return plain(number == 0 ? "-0" : std::to_string(number));
  }
  bool number_unsigned(std::uint64_t number) override { return plain(std::to_string(number)); }
  bool number_float(double, const std::string& text) override { return plain(text); }
  bool string(std::string& text) override { return quoted(text); }
  bool key(std::string& text) override {
    quoted(text);
    return keyed = true;
  }

  bool start(std::string_view bracket) {
    if (std::ssize(open) >= limits.depth) {
      fail_file(document.file, "lists and objects must be at most ", limits.depth, " deep");
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

}  // namespace tessera
