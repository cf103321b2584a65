// Words as tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// The places of the words of a text: cut at ASCII's white space, each ASCII punctuation mark a word of
/// its own. Everything beyond ASCII belongs to the word around it.
std::vector<Span> word_spans(std::string_view text);

/// The words of a text, with A to Z in lower case.
std::vector<std::string> split_words(std::string_view text);

/// The words of split_words, by number. Decoding puts a space between two words.
class WordTokenizer final : public Tokenizer {
 public:
  /// The words of `texts`, as TokenCounts numbers them. **Errors**: as TokenCounts.
  static WordTokenizer of(std::span<const std::string> texts,
                          const VocabularyOptions& options = {});
  /// **Errors**: std::runtime_error that begins with `file`: text that to_text does not make.
  static WordTokenizer from_text(std::string_view text, const std::string& file);

  std::string decode(std::span<const index_t> ids) const override;
  std::string to_text() const override;

 private:
  explicit WordTokenizer(Vocabulary vocabulary);
  std::vector<Piece> split(std::string_view text) const override;
};

}  // namespace tessera::text
