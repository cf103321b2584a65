// The character map of SentencePiece, which tokenizer.json holds as base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/detail/normalizer.h"

namespace tessera::text {

/// Replaces characters and short user-perceived characters by what a compiled map has for them.
///
/// The map's bytes: the size of a trie, the trie (Darts' double array, in units of 32 bits), and
/// texts that end with NUL, to which the trie's values point. A user-perceived character of less
/// than six bytes is looked up as a whole, others a character at a time; of several keys that it
/// begins with, the shortest counts.
/// **Source**: SentencePiece, builder.cc and normalizer.cc, as the tokenizers library reads them.
class PrecompiledMap final : public Normalizer {
 public:
  /// **Errors**: std::runtime_error that names the place: no base64, a trie that is longer than the
  /// map, texts that are not UTF-8.
  explicit PrecompiledMap(const Json& base64);
  void apply(AlignedText& text) const override;

 private:
  std::optional<std::string_view> find(std::string_view key) const;

  std::vector<std::uint32_t> trie_;
  std::string texts_;
};

}  // namespace tessera::text
