// Whole words as tokens of a vocabulary.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "models/text/detail/subword_vocabulary.h"

namespace tessera::text {

/// A word is a token or unknown.
class WordLevel final : public SubwordModel {
 public:
  /// **Errors**: as SubwordVocabulary.
  explicit WordLevel(TokenList vocabulary, std::string_view unknown = "[UNK]");

  using SubwordModel::tokenize;
  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  SubwordVocabulary vocabulary_;
  std::optional<index_t> unknown_;
};

std::unique_ptr<SubwordModel> read_word_level(const Json& json);

}  // namespace tessera::text
