// Subword models: the third step from a text to tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// Cuts a word into tokens of its vocabulary: WordPiece, byte-pair encoding, Unigram.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  /// Appends the tokens of `word`; their bytes are places in it. Safe from several threads.
  virtual void tokenize(std::string_view word, std::vector<Piece>& pieces) const = 0;

  /// The token of each number; empty where a number has none.
  virtual std::vector<std::string> tokens() const = 0;
};

/// The model that a tokenizer.json describes under "model".
/// **Errors**: std::runtime_error that names the file and the place: a kind that is not known.
std::unique_ptr<SubwordModel> read_subword_model(const Json& json);

}  // namespace tessera::text
