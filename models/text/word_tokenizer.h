// Words as tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// The positions of the words of a text. ASCII white space separates words, and each ASCII
/// punctuation mark is a word. All other characters, also those outside ASCII, are parts of words.
std::vector<Span> word_spans(std::string_view text);

/// The words of a text, with A to Z in lower case.
std::vector<std::string> split_words(std::string_view text);

/// The words of split_words as tokens. Decoding puts a space between words.
class WordTokenizer final : public Tokenizer {
 public:
  /// A tokenizer of the words of `texts`, with the ids of TokenCounts. **Errors**: as
  /// TokenCounts::vocabulary; bytes that are not UTF-8.
  static WordTokenizer of(std::span<const std::string> texts,
                          const VocabularyOptions& options = {});
  /// The tokenizer whose to_text is `json`. **Errors**: as vocabulary_from_json.
  static WordTokenizer from_json(const Json& json);

  std::string decode(std::span<const index_t> ids) const override;
  std::string to_text() const override;

 private:
  explicit WordTokenizer(Vocabulary vocabulary);
  std::vector<Piece> split(std::string_view text) const override;
};

}  // namespace tessera::text
