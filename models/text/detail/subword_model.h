// Subword models: the fourth step from a text to tokens.
//
//   const auto model = text::read_subword_model(read_json("tokenizer.json").at("model"));
//   std::vector<text::Piece> pieces;
//   model->tokenize("lions", pieces);   // WordPiece: lion ##s
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/models/text/detail/aligned_text.h"
#include "tessera/models/text/detail/trie.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// Divides a word into tokens of its vocabulary: WordPiece, byte-pair encoding, Unigram, or whole
/// words.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the tokens of `word`, which is UTF-8; their bytes are positions in it. An empty word
  /// has no tokens. `effort` counts the work. May be called from several threads.
  /// **Errors**: a word with an unknown part if the model has no unknown token; as Effort.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces,
                        Effort& effort) const = 0;

  /// The token of each number; empty if a number has none.
  const TokenList& tokens() const { return tokens_; }
  /// Moves the tokens out: tokens() is then empty.
  TokenList release_tokens() { return std::move(tokens_); }

 protected:
  explicit SubwordModel(TokenList tokens) : tokens_(std::move(tokens)) {}

 private:
  TokenList tokens_;
};

/// The most tokens that a subword model may have.
inline constexpr index_t kMostTokens = 1 << 20;

/// Reads `{token: number, ...}`. **Errors**: std::runtime_error that names the file and the place:
/// too many tokens, one that is too long, two tokens with the same number.
TokenList read_tokens(const Json& json);

// ---- the common parts of models: tokens for unknown text ----

/// **Errors**: std::invalid_argument: `word` needs an unknown token, and there is none.
[[noreturn]] void fail_unknown(std::string_view word);

/// The number of a model's unknown token. **Errors**: std::invalid_argument: there is none.
inline index_t unknown_id(std::optional<index_t> id, std::string_view word) {
  if (!id) fail_unknown(word);
  return *id;
}

/// The tokens "<0x00>" to "<0xFF>" for bytes; Trie::kNoValue for tokens that `trie` does not have.
/// If `trie` is null, all are Trie::kNoValue.
using ByteTokens = std::array<index_t, 256>;
ByteTokens byte_tokens(const Trie* trie);
/// Whether `tokens` has a token for each byte of the text.
bool has_all(const ByteTokens& tokens, std::string_view text);

/// Throws if a token is too long for a model that searches along its tokens from each position of a
/// word, in time proportional to their length. **Errors**: std::invalid_argument: longer than any
/// real token.
void check_walked(std::string_view token, const char* op);

/// The model that a tokenizer.json describes under "model".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind; a token
/// without a number; tokens that are too long, or that have too many different beginnings; as
/// read_json.
std::unique_ptr<SubwordModel> read_subword_model(const Json& json);

// ---- the models by their kinds, for read_subword_model ----

std::unique_ptr<SubwordModel> read_word_piece(const Json& json);
std::unique_ptr<SubwordModel> read_byte_pair(const Json& json);
std::unique_ptr<SubwordModel> read_unigram(const Json& json);

}  // namespace tessera::text
