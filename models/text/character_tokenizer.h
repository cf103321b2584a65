// Characters as tokens.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// The code points of a text, as UTF-8. **Errors**: bytes that are not UTF-8.
std::vector<std::string> split_characters(std::string_view text);

/// The code points of a text as tokens. If the vocabulary has all of them, decode_text restores the
/// text.
class CharacterTokenizer final : public Tokenizer {
 public:
  /// A tokenizer of the characters of `texts`, with the ids of TokenCounts. **Errors**: as
  /// TokenCounts::vocabulary; bytes that are not UTF-8.
  static CharacterTokenizer of(std::span<const std::string> texts,
                               const VocabularyOptions& options = {});
  /// The tokenizer whose to_text is `json`. **Errors**: as vocabulary_from_json.
  static CharacterTokenizer from_json(const Json& json);

  std::string decode(std::span<const index_t> ids) const override;
  std::string to_text() const override;

 private:
  explicit CharacterTokenizer(Vocabulary vocabulary);
  std::vector<Piece> split(std::string_view text) const override;
};

}  // namespace tessera::text
