// Whole words as tokens of a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/text/pipeline/subword_vocabulary.h"

namespace tessera::text {

/// A word is a token or unknown.
class WordLevel final : public SubwordModel {
 public:
  /// **Errors**: as SubwordVocabulary.
  explicit WordLevel(const TokenNumbers& vocabulary, std::string_view unknown = "[UNK]");

  void tokenize(std::string_view word, std::vector<Piece>& pieces) const override;
  std::vector<std::string> tokens() const override { return vocabulary_.tokens; }

 private:
  SubwordVocabulary vocabulary_;
  std::optional<index_t> unknown_;
};

std::unique_ptr<SubwordModel> read_word_level(const Json& json);

}  // namespace tessera::text
