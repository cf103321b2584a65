// The character map of SentencePiece, which a tokenizer.json contains as base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/detail/steps.h"

namespace tessera::text {

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

}  // namespace tessera::text
