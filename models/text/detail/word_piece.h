// WordPiece, the subword model of BERT.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "models/text/detail/subword_model.h"

namespace tessera::text {

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string prefix = "##";     // of tokens that continue a word
  index_t max_characters = 100;  // of a word; longer ones are unknown
};

/// The longest token that begins the word, then the longest that continues it, ...; a word that
/// cannot be divided in this way is unknown as a whole. Takes time proportional to the word times
/// the longest token.
/// **Source**: Wu et al., "Google's Neural Machine Translation System", 2016; Devlin et al.,
/// "BERT".
class WordPiece final : public SubwordModel {
 public:
  /// **Errors**: as SubwordVocabulary.
  explicit WordPiece(TokenList vocabulary, const WordPieceOptions& options = {});

  using SubwordModel::tokenize;
  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  SubwordVocabulary vocabulary_;
  std::optional<index_t> unknown_;
  Trie::Node continuation_;  // after the prefix
  index_t max_characters_;
};

std::unique_ptr<SubwordModel> read_word_piece(const Json& json);

}  // namespace tessera::text
