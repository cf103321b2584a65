// The steps of the pipeline that a tokenizer.json describes, from a text to tokens and back, except
// added tokens (added_tokens.h) and the subword model (subword_model.h).
//
// **Errors** of the functions that read a step: std::runtime_error that names the file and the
// place: an unknown kind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/detail/aligned_text.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

class AddedTokens;

/// The steps in the list `key` of a Sequence, including those of Sequences inside it.
/// **Errors**: std::runtime_error that names the file and the place: more than 100 steps.
std::vector<Json> step_list(const Json& sequence, std::string_view key);

/// A step that rewrites a text or divides it into words. Normalizers, the second step, rewrite the
/// text between added tokens: lower case, no accents, one form for equal characters, ...
/// Pre-tokenizers, the third step, divide words into smaller ones, and may rewrite them. At first
/// the whole text is one word.
using TextStep = std::function<void(AlignedText& text)>;

/// A Sequence of steps as one step; `read` makes each step of the list `key`.
TextStep step_sequence(const Json& json, std::string_view key, TextStep (*read)(const Json&));

/// The normalizer or pre-tokenizer that a tokenizer.json describes under "normalizer" or
/// "pre_tokenizer".
TextStep read_normalizer(const Json& json);
TextStep read_pre_tokenizer(const Json& json);
/// The normalizer "Precompiled", the character map of SentencePiece, which is base64.
TextStep read_precompiled_map(const Json& json);

/// Puts `prefix` before each word that does not begin with it, if `wanted(word)`.
void prepend_to_words(std::string_view prefix, AlignedText& text,
                      const std::function<bool(Span)>& wanted);

/// The last step: the special tokens around texts, and byte ranges without white space.
class PostProcessor {
 public:
  PostProcessor() = default;
  /// The post-processor that a tokenizer.json describes under "post_processor", if it has one.
  /// `tokens`: the token of each number.
  /// **Errors**: also a template that omits a text; a number without a token.
  PostProcessor(const std::optional<Json>& json, const TokenList& tokens);

  /// Removes white space at the ends of tokens from their byte ranges.
  void trim(std::string_view text, std::span<Piece> pieces, const AddedTokens& added) const;

  /// The special tokens, which Tokenizer puts around texts.
  Frame frame = {{{0, 0}}, {{0, 0}, {1, 1}}};

 private:
  struct Blanks {
    std::int32_t left = 0;  // characters of white space at the token's beginning
    std::int32_t right = 0;
  };
  static Blanks blanks_of(std::string_view token);
  void add(const Json& json, index_t size, bool& has_frame);

  // One entry for each time that tokens are trimmed: whether the first token keeps its first space,
  // which was added before the text.
  std::vector<bool> keeps_first_;
  std::vector<Blanks> blanks_;  // of each number; empty if nothing is trimmed
};

/// From tokens back to a text: changes tokens into parts of a text, which are then joined.
using Decoder = std::function<void(std::vector<std::string>& tokens)>;

/// The decoder that a tokenizer.json describes under "decoder".
Decoder read_decoder(const Json& json);

}  // namespace tessera::text
