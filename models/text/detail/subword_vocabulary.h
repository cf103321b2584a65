// The common parts of subword models: tokens as a trie, and tokens for unknown text.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "models/text/detail/subword_model.h"
#include "models/text/detail/trie.h"

namespace tessera::text {

/// **Errors**: std::invalid_argument: `word` needs an unknown token, and there is none.
[[noreturn]] void fail_unknown(std::string_view word);

/// Finds the number of each token.
struct SubwordVocabulary {
  /// **Errors**: std::invalid_argument that names `op`: a token that occurs twice; as Trie.
  SubwordVocabulary(const TokenList& tokens, const char* op);

  /// The number of a token, nullopt if it has none.
  std::optional<index_t> number(std::string_view token) const {
    const index_t value = trie.find(token);
    return value == Trie::kNoValue ? std::nullopt : std::optional(value);
  }

  Trie trie;  // from token to number
};

/// The number of a model's unknown token. **Errors**: std::invalid_argument: there is none.
inline index_t unknown_id(std::optional<index_t> id, std::string_view word) {
  if (!id) fail_unknown(word);
  return *id;
}

/// The tokens "<0x00>" to "<0xFF>" for bytes; Trie::kNoValue for tokens that `trie` does not have;
/// without a trie for all.
using ByteTokens = std::array<index_t, 256>;
ByteTokens byte_tokens(const Trie* trie);
/// Whether each byte of a text has its token.
bool has_all(const ByteTokens& tokens, std::string_view text);

/// Throws if a token is too long for a model that searches along its tokens from each position of a
/// word, in time proportional to their length. **Errors**: std::invalid_argument: longer than any
/// real token.
void check_walked(std::string_view token, const char* op);

}  // namespace tessera::text
