// Subword models: the fourth step from a text to tokens.
//
//   const auto model = text::read_subword_model(read_json("tokenizer.json").at("model"));
//   std::vector<text::Piece> pieces;
//   model->tokenize("lions", pieces);   // WordPiece: lion ##s
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/text/detail/effort.h"
#include "models/text/token_list.h"
#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// Divides a word into tokens of its vocabulary: WordPiece, byte-pair encoding, Unigram.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the tokens of `word`, which is UTF-8; their bytes are positions in it. An empty word
  /// has no tokens. `effort` counts the work. May be called from several threads.
  /// **Errors**: a word with an unknown part if the model has no unknown token; as Effort.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces,
                        Effort& effort) const = 0;
  /// The same for a word that is the whole text.
  void tokenize(std::string_view word, std::vector<Piece>& pieces) const {
    Effort effort(std::ssize(word));
    tokenize(word, pieces, effort);
  }

  /// The token of each number; empty if a number has none.
  const TokenList& tokens() const { return tokens_; }
  /// Moves them out: tokens() is empty from then on.
  TokenList release_tokens() { return std::move(tokens_); }

 protected:
  explicit SubwordModel(TokenList tokens) : tokens_(std::move(tokens)) {}

 private:
  TokenList tokens_;
};

/// The range of token ids for a vocabulary of this size. It allows gaps, but limits the memory that an
/// untrusted file can take.
JsonRange token_number_range(index_t tokens);

/// The most tokens that a subword model may have.
inline constexpr index_t kMostTokens = 1 << 20;

/// Reads `{token: number, ...}`. **Errors**: std::runtime_error that names the file and the place:
/// too many tokens, one that is too long, two tokens with the same number.
TokenList read_tokens(const Json& json);

/// The model that a tokenizer.json describes under "model".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind, a token
/// without a number, as read_json.
std::unique_ptr<SubwordModel> read_subword_model(const Json& json);

}  // namespace tessera::text
