#include <algorithm>
#include <cstdint>
#include <optional>

#include "tessera/models/text/detail/steps.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/detail/utf8.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

constexpr std::size_t kLongestCluster = 5;                   // in bytes
constexpr std::size_t kMostMapBytes = std::size_t{4} << 20;  // XLM-R's has 310,000
constexpr std::size_t kLongestText = 1000;                   // each is repeatedly read to its end

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::string from_base64(const Json& json) {
  std::string_view text = json.text();
  if (text.size() > kMostMapBytes) {
    json.fail("must have at most ", kMostMapBytes, " bytes, got ", text.size());
  }
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = base64_digit(text[i]);
    if (digit < 0) json.fail("must be base64, got ", printable(text.substr(i, 1)), " at byte ", i);
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 != 0) bytes += static_cast<char>(bits >> (6 - 2 * (i % 4)));
  }
  return bytes;
}

std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t i = 4; i-- > 0;) unit = unit << 8 | static_cast<unsigned char>(bytes[at + i]);
  return unit;
}

/// A unit of the trie: the byte that leads to it, whether a key ends here, the position of its
/// children.
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000ff;
}
bool ends_key(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t offset(std::uint32_t unit) {
  return unit >> 10 << ((unit & 1u << 9) >> 6);
}

int count_characters(std::string_view text) {
  int count = 0;
  for (std::size_t at = 0; at < text.size(); at += utf8_size(text[at])) ++count;
  return count;
}

/// The first new characters replace the old ones; the last one contains the difference.
void add_replacement(int old_count, std::string_view text, std::vector<Change>& changes) {
  int count = 0;
  for (std::size_t at = 0; at < text.size(); at += utf8_size(text[at]), ++count) {
    changes.push_back({code_point_at(text, at), count < old_count ? 0 : 1});
  }
  if (count < old_count && !changes.empty()) changes.back().change += count - old_count;
}

/// Replaces characters and short user-perceived characters by their entries in a compiled map.
///
/// The map's bytes: the size of a trie, the trie (Darts' double array, in units of 32 bits), and
/// texts that end with NUL, to which the trie's values point. A user-perceived character of less
/// than six bytes is looked up as a whole, others one character at a time; of several matching keys
/// the shortest is used.
/// **Source**: SentencePiece, builder.cc and normalizer.cc, as read by the tokenizers library.
class PrecompiledMap {
 public:
  /// **Errors**: std::runtime_error that names the place: not base64, a trie that is longer than
  /// the map, texts that are not UTF-8.
  explicit PrecompiledMap(const Json& base64);
  void operator()(AlignedText& text) const;

 private:
  std::optional<std::string_view> find(std::string_view key) const;

  std::vector<std::uint32_t> trie_;
  std::string texts_;
};

PrecompiledMap::PrecompiledMap(const Json& base64) {
  const std::string bytes = from_base64(base64);
  const std::size_t size = bytes.size() < 4 ? 0 : unit_at(bytes, 0);
  if (size == 0 || size % 4 != 0 || size > bytes.size() - 4) {
    base64.fail("the trie must have 4, 8, ... bytes inside of the map's ", bytes.size(), ", got ",
                size);
  }
  trie_.reserve(size / 4);
  for (std::size_t at = 4; at < 4 + size; at += 4) trie_.push_back(unit_at(bytes, at));
  texts_ = bytes.substr(4 + size);
  if (const std::size_t bad = find_invalid_utf8(texts_); bad != std::string::npos) {
    base64.fail("texts must be UTF-8, got ", printable(texts_.substr(bad, 1)));
  }
  for (std::size_t at = 0; at < texts_.size();) {
    const std::size_t end = std::min(texts_.find('\0', at), texts_.size());
    if (end - at > kLongestText) {
      base64.fail("a text must have at most ", kLongestText, " bytes, got ", end - at);
    }
    at = end + 1;
  }
}

std::optional<std::string_view> PrecompiledMap::find(std::string_view key) const {
  std::size_t node = offset(trie_[0]);
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= trie_.size()) return {};
    const std::uint32_t unit = trie_[node];
    if (label(unit) != byte) return {};
    node ^= offset(unit);
    if (!ends_key(unit)) continue;
    if (node >= trie_.size()) return {};
    const std::size_t at = trie_[node] & 0x7fffffff;
    if (at >= texts_.size()) return {};
    const std::string_view text = std::string_view(texts_).substr(at);
    if (detail::code_point_size(text) == 0) return {};  // inside a character
    return text.substr(0, text.find('\0'));
  }
  return {};
}

void PrecompiledMap::operator()(AlignedText& text) const {
  const Characters old = characters_of(text, 0, std::ssize(text.text));
  const std::string_view bytes = text.text;
  std::vector<Change> changes;
  changes.reserve(old.size());
  bool changed = false;
  const auto replace = [&](std::string_view key) {
    const auto found = find(key);
    if (found) add_replacement(count_characters(key), *found, changes);
    changed = changed || found;
    check_growth(text, std::ssize(changes));
    return found.has_value();
  };

  GraphemeBreaks breaks;
  std::size_t start = 0;  // of the cluster, in bytes
  std::size_t end = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    end += utf8_size(old[i].code);
    if (i + 1 < old.size() && !breaks.between(old[i].code, old[i + 1].code)) continue;
    const std::string_view cluster = bytes.substr(start, end - start);
    start = end;
    if (cluster.size() <= kLongestCluster && replace(cluster)) continue;
    for (std::size_t at = 0; at < cluster.size(); at += utf8_size(cluster[at])) {
      const std::string_view character = cluster.substr(at, utf8_size(cluster[at]));
      if (!replace(character)) changes.push_back({code_point_at(character, 0), 0});
    }
  }
  if (!changed) return;
  AlignedWriter writer(text);
  put(realigned(old, changes), writer);
  writer.replace(text);
}

}  // namespace

TextStep read_precompiled_map(const Json& json) {
  return PrecompiledMap(json.at("precompiled_charsmap"));
}

}  // namespace tessera::text
