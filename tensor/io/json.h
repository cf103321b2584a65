// Reads JSON from untrusted files, with checks, by key; and writes JSON text.
//
//   const Json config = read_json("model/config.json");
//   const index_t layers = config.integer("num_hidden_layers", {1, 1000});
//   const double eps = config.number("layer_norm_eps", 1e-12);      // if it is absent or null
//   for (const Json& label : config.at("id2label").items()) use(label.key(), label.text());
//
// A value of a wrong type or range is an error that names the file and the place:
//
//   model/config.json: num_hidden_layers: must be an integer from 1 to 1000, got the text 'six'
//
// To write JSON text:
//
//   JsonObject({{"label", name}, {"score", 0.5f}, {"bytes", json_list(offsets)}}).text()
//
// NaN, Infinity and -Infinity, which Python writes, are numbers too, but number() rejects them.
//
// **Source**: RFC 8259; Python's json module.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/types.h"

// These names are exported, although their source files are compiled with hidden visibility.
#pragma GCC visibility push(default)

namespace tessera {

/// Limits of a JSON document; text beyond these limits is rejected before memory is allocated for
/// its values. A document takes at most 40 bytes of memory per byte of its text.
struct JsonLimits {
  index_t bytes = index_t{1} << 30;  // of the text
  index_t depth = 64;                // of lists and objects inside each other; at most 1000
  index_t values = 4'000'000;        // keys count too
};
/// For files without long lists or texts, such as config.json.
inline constexpr JsonLimits kSmallJson = {.bytes = index_t{4} << 20, .values = 500'000};

/// The range of valid integers, both ends included.
struct JsonRange {
  index_t low = std::numeric_limits<index_t>::min();
  index_t high = std::numeric_limits<index_t>::max();
};

/// A value in a JSON document, and a handle that keeps the document alive.
///
/// **Errors** throughout: std::runtime_error that begins with the file's name and the place.
class Json {
 public:
  /// The type of a value. A number is kInteger if it fits int64 and is written without a fraction
  /// or an exponent; any other number, and -0, is kNumber.
  enum class Kind : std::uint8_t { kNull, kBoolean, kInteger, kNumber, kText, kList, kObject };

  /// The type of this value.
  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_text() const { return kind() == Kind::kText; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_object() const { return kind() == Kind::kObject; }

  /// The value itself. **Errors**: a value of a different kind, or outside the range. number()
  /// accepts an integer such as 2, and rejects NaN and infinities; integer() rejects 2.0.
  bool boolean() const;
  index_t integer(JsonRange range = {}) const;
  double number() const;
  std::string_view text() const;  // valid while any value of the document exists
  Json as_list() const;
  Json as_object() const;

  /// The value of an object's key; nothing if the key is absent or its value is null. **Errors**:
  /// this value is not an object.
  std::optional<Json> find(std::string_view key) const;
  /// Whether `find` gives a value.
  bool has(std::string_view key) const { return find(key).has_value(); }
  /// The value of an object's key. **Errors**: the key is absent or its value is null.
  Json at(std::string_view key) const;

  /// The value of an object's key, of this type. If the key is absent or its value is null:
  /// `otherwise`. **Errors**: no `otherwise`; a value of a different type or outside the range.
  bool boolean(std::string_view key, std::optional<bool> otherwise = {}) const;
  index_t integer(std::string_view key, JsonRange range = {},
                  std::optional<index_t> otherwise = {}) const;
  double number(std::string_view key, std::optional<double> otherwise = {}) const;
  std::string text(std::string_view key, std::optional<std::string> otherwise = {}) const;

  /// The number of values in a list or an object, in constant time. **Errors**: any other value.
  index_t size() const;

  class Items;  // for items()
  /// The values of a list or an object, in the file's order. **Errors**: the value is neither.
  Items items() const;
  /// Value i of a list, in constant time. **Errors**: not a list; an index out of range.
  Json item(index_t i) const;
  /// The key under which an object has this value; empty in a list and at the top.
  std::string_view key() const;

  /// "model/config.json: rope_scaling.factor", the start of errors about this value.
  std::string place() const;
  /// This value as errors describe it: "the text 'six'".
  std::string described() const;

  /// Throws an error about this value.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    fail_file(place(), parts...);
  }

 private:
  struct Document;
  friend class JsonText;
  friend Json parse_json(std::string_view, const std::string&, const JsonLimits&);

  Json(std::shared_ptr<const Document> document, const void* value, std::string_view key = "")
      : document_(std::move(document)), value_(value), key_(key) {}
  void want(Kind kind, const char* what) const;
  Json child(std::size_t i) const;

  std::shared_ptr<const Document> document_;
  const void* value_;  // a value of the JSON library, which is compiled in
  std::string_view key_;
};

/// The values of a list or an object, for a `for` loop.
class Json::Items {
 public:
  /// An input iterator.
  class Iterator {
   public:
    Json operator*() const { return around_->child(i_); }
    Iterator& operator++() { return ++i_, *this; }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    friend class Items;
    Iterator(const Json& around, std::size_t i) : around_(&around), i_(i) {}

    const Json* around_;
    std::size_t i_;
  };

  Iterator begin() const { return {around_, 0}; }
  Iterator end() const { return {around_, static_cast<std::size_t>(around_.size())}; }

 private:
  friend class Json;
  explicit Items(Json around) : around_(std::move(around)) {}

  Json around_;
};

/// Reads one JSON value, with nothing after it but white space.
///
/// **Errors**: a std::runtime_error whose message begins with `file`: text that is not JSON in
/// UTF-8, with the position of the byte; an object with two equal keys, after escapes are decoded;
/// a document beyond `limits`.
Json parse_json(std::string_view text, const std::string& file, const JsonLimits& limits = {});

/// The JSON in a file. **Errors**: as parse_json; no such file, or one that cannot be read; a Git
/// LFS pointer or an HTML page instead of the file.
Json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});
/// As read_json; nothing if there is no such file. **Errors**: also
/// std::filesystem::filesystem_error for a path that is too long, or in a folder that this process
/// must not search.
std::optional<Json> find_json(const std::filesystem::path& path, const JsonLimits& limits = {});

/// The white space and signs around and between the values of a list or an object.
struct JsonSpacing {
  std::string_view before = "";
  std::string_view between = ",";
  std::string_view after = "";
  std::string_view colon = ":";
};
/// One value per line.
inline constexpr JsonSpacing kJsonLines = {"\n  ", ",\n  ", "\n", ": "};

/// A value as JSON text.
class JsonText {
 public:
  /// A value that was read, without white space. A number keeps its value, but may be written with
  /// different digits; 1.0 does not become the integer 1, and NaN stays NaN.
  JsonText(const Json& json);
  /// Text in quotes. **Errors**: text that is not UTF-8: a std::invalid_argument whose message
  /// begins with `op`.
  JsonText(std::string_view text, const char* op = "json");
  JsonText(const std::string& text) : JsonText(std::string_view(text)) {}
  JsonText(const char* text) : JsonText(std::string_view(text)) {}
  /// The shortest number that reads as the same value; null for NaN and infinities.
  template <class T>
  requires std::is_arithmetic_v<T> JsonText(T value) : text_(number(value)) {}
  /// null; an absent optional is null too.
  JsonText(std::nullptr_t) : text_("null") {}
  template <class T>
  JsonText(const std::optional<T>& value) : text_(value ? JsonText(*value).text_ : "null") {}
  /// Text that is JSON already.
  static JsonText written(std::string json);

  /// The JSON text.
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 protected:
  JsonText() = default;
  /// Adds to the list or object that the text is.
  void insert(const JsonSpacing& spacing, std::string_view value);

 private:
  static std::string number(bool value) { return value ? "true" : "false"; }
  static std::string number(std::integral auto value) { return std::to_string(value); }
  static std::string number(float value);
  static std::string number(double value);

  std::string text_;
};

/// A list: `JsonList().add(1).add("a")` is [1,"a"].
class JsonList : public JsonText {
 public:
  explicit JsonList(const JsonSpacing& spacing = {}) : JsonText(written("[]")), spacing_(spacing) {}
  /// Adds a value.
  JsonList& add(const JsonText& value);

 private:
  JsonSpacing spacing_;
};
/// The list of `value(item)` for each item.
template <class Items, class Value = std::identity>
JsonList json_list(const Items& items, const Value& value = {}, const JsonSpacing& spacing = {}) {
  JsonList list(spacing);
  for (const auto& item : items) list.add(value(item));
  return list;
}

/// Keys and their values.
using JsonMembers = std::vector<std::pair<std::string, JsonText>>;

/// An object: `JsonObject({{"a", 1}}).add("b", true)` is {"a":1,"b":true}.
class JsonObject : public JsonText {
 public:
  explicit JsonObject(const JsonSpacing& spacing = {})
      : JsonText(written("{}")), spacing_(spacing) {}
  JsonObject(std::initializer_list<std::pair<std::string_view, JsonText>> members) : JsonObject() {
    for (const auto& [key, value] : members) add(key, value);
  }
  /// Adds one member, or several members. **Errors**: as JsonText, for a key that is not UTF-8.
  JsonObject& add(std::string_view key, const JsonText& value);
  JsonObject& add(const JsonMembers& members);

 private:
  JsonSpacing spacing_;
};

}  // namespace tessera

#pragma GCC visibility pop
