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

#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// Cuts a word into tokens of its vocabulary: WordPiece, byte-pair encoding, Unigram.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the tokens of `word`, which is UTF-8; their bytes are places in it. An empty word has
  /// none. Safe from several threads.
  /// **Errors**: a word that needs the unknown token of a model that has none.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces) const = 0;

  /// The token of each number; empty where a number has none.
  virtual std::vector<std::string> tokens() const = 0;
};

/// Tokens, each once, and their numbers, in any order and with holes.
using TokenNumbers = std::vector<std::pair<std::string, index_t>>;

/// The numbers that tokens of a vocabulary of this size may have: some holes, but none that a
/// hostile file could fill memory with.
JsonRange token_number_range(index_t tokens);

/// Reads `{token: number, ...}`. **Errors**: std::runtime_error that names the file and the place.
TokenNumbers read_token_numbers(const Json& json);

/// The model that a tokenizer.json describes under "model".
/// **Errors**: std::runtime_error that names the file and the place: a kind that is not known, a
/// token without a number, what read_json refuses.
std::unique_ptr<SubwordModel> read_subword_model(const Json& json);

}  // namespace tessera::text
