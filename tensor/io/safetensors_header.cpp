#include "tensor/io/safetensors_header.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera {

namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 48;
constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 62;

/// Builds the header from the events of a JSON parser, which knows no recursion: whatever does not
/// stand where the format has it is refused at once, so neither depth nor duplicates can do harm.
/// The functions that return bool are the events, under the library's names.
class Reader : public json::json_sax_t {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) return go(Place::kTop);
    if (place_ != Place::kTop) refuse("an object");
    if (key_ == kMetadata) return go(Place::kTexts);
    if (header_.entries.size() == kMaxEntries) {
      fail_file(file_, "header: more than ", kMaxEntries, " tensors");
    }
    header_.entries.push_back({.name = key_, .dtype = {}, .shape = {}});
    seen_ = {};
    return go(Place::kEntry);
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      if (!seen_.dtype) fail_here("there is no 'dtype'");
      if (!seen_.shape) fail_here("there is no 'shape'");
      if (!seen_.offsets) fail_here("there are no 'data_offsets'");
    }
    return go(place_ == Place::kTop ? Place::kEnd : Place::kTop);
  }

  bool key(std::string& text) override {
    if (text.size() > kMaxName) {
      fail_file(file_, "header: the name ", printable(text), " has more than ", kMaxName, " bytes");
    }
    key_ = text;
    if (place_ == Place::kTop) {
      if (!names_.insert(text).second) {
        fail_file(file_, "header: the name ", printable(text), " stands here twice");
      }
    } else if (place_ == Place::kTexts) {
      if (header_.metadata.contains(text)) {
        fail_file(file_, "header: __metadata__: ", printable(text), " stands here twice");
      }
    } else {
      bool& seen = text == "dtype"          ? seen_.dtype
                   : text == "shape"        ? seen_.shape
                   : text == "data_offsets" ? seen_.offsets
                                            : fail_key();
      if (seen) fail_here(printable(text), " stands here twice");
      seen = true;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || key_ == "dtype") refuse("a list");
    offset_count_ = 0;
    return go(key_ == "shape" ? Place::kShape : Place::kOffsets);
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && offset_count_ != 2) fail_here("wanted 2 data_offsets");
    return go(Place::kEntry);
  }

  bool string(std::string& text) override {
    if (place_ == Place::kTexts) {
      header_.metadata.emplace(key_, std::move(text));
    } else if (place_ == Place::kEntry && key_ == "dtype") {
      entry().dtype = std::move(text);
    } else {
      refuse("a text");
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::kShape) {
      if (value > kMaxSize) fail_here("a size above 2^48: ", value);
      if (entry().shape.size() == kMaxRank) fail_here("more than ", kMaxRank, " axes");
      entry().shape.push_back(static_cast<index_t>(value));
    } else if (place_ == Place::kOffsets) {
      if (value > kMaxOffset) fail_here("an offset above 2^62: ", value);
      if (offset_count_ == 2) fail_here("wanted 2 data_offsets");
      (offset_count_++ == 0 ? entry().begin : entry().end) = static_cast<index_t>(value);
    } else {
      refuse("a number");
    }
    return true;
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool number_integer(std::int64_t) override { refuse("a number with a sign"); }
  bool number_float(double, const std::string& text) override {
    refuse("a number that is no unsigned 64-bit integer, " + printable(text) + ",");
  }
  bool binary(json::binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string& token,
                   const json::exception&) override {
    fail_file(file_, "header, byte ", position - 1, ": not JSON as the format has it, at ",
              printable(token));
  }

 private:
  enum class Place { kStart, kTop, kTexts, kEntry, kShape, kOffsets, kEnd };
  struct Seen {
    bool dtype = false, shape = false, offsets = false;
  };

  SafetensorsEntry& entry() { return header_.entries.back(); }

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool& fail_key() { fail_here("unknown key ", printable(key_)); }

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) {
    fail_file(file_, "header: tensor ", printable(entry().name), ": ", parts...);
  }

  /// `what` is right JSON, but stands where the format has something else.
  [[noreturn]] void refuse(const std::string& what) {
    switch (place_) {
      case Place::kTexts:
        fail_file(file_, "header: __metadata__: ", printable(key_), " should be a text, not ",
                  what);
      case Place::kTop:
        fail_file(file_, "header: ", printable(key_), " should be an object, not ", what);
      case Place::kEntry:
        fail_here(printable(key_), " should be ", key_ == "dtype" ? "a text" : "a list", ", not ",
                  what);
      case Place::kShape:
      case Place::kOffsets:
        fail_here(printable(key_), " should hold unsigned integers, not ", what);
      case Place::kStart:
      case Place::kEnd:
        fail_file(file_, "header: should be an object, not ", what);
    }
    __builtin_unreachable();
  }

  const std::string& file_;
  SafetensorsHeader header_;
  std::set<std::string> names_;
  Place place_ = Place::kStart;
  std::string key_;
  Seen seen_;
  int offset_count_ = 0;
};

/// `text` in quotes, as JSON. Errors: it is not UTF-8.
std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail("save_safetensors", "not UTF-8: ", printable(text));
  }
}

void check_name(const std::string& name) {
  require(!name.empty() && name.size() <= kMaxName, "save_safetensors", "a name must have 1 to ",
          kMaxName, " bytes: ", printable(name));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file) {
  if (!text.starts_with('{')) fail_file(file, "byte 8: the header does not begin with '{'");
  // The JSON library takes a zero byte for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) fail_file(file, "header, byte ", zero, ": a zero byte");
  Reader reader(file);
  json::sax_parse(text, &reader);
  return reader.take();
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  std::string text = "{";
  const auto add_key = [&](const std::string& key) {
    if (text.back() != '{') text += ',';
    text += quoted(key) + ':';
  };
  if (!header.metadata.empty()) {
    add_key(std::string(kMetadata));
    text += '{';
    for (const auto& [key, value] : header.metadata) {
      check_name(key);
      add_key(key);
      text += quoted(value);
    }
    text += '}';
  }
  for (const SafetensorsEntry& entry : header.entries) {
    check_name(entry.name);
    require(entry.name != kMetadata, "save_safetensors", "no tensor can have the name ", kMetadata);
    add_key(entry.name);
    text += format(R"({"dtype":")", entry.dtype, R"(","shape":[)");
    for (index_t axis = 0; axis < entry.shape.size(); ++axis) {
      text += format(axis == 0 ? "" : ",", entry.shape[axis]);
    }
    text += format(R"(],"data_offsets":[)", entry.begin, ',', entry.end, "]}");
  }
  return text += '}';
}

}  // namespace tessera
