// The steps of the pipeline that a tokenizer.json describes, from a text to tokens and back, except
// added tokens (added_tokens.h) and the subword model (subword_model.h).
//
// **Errors** of the functions that read a step: std::runtime_error that names the file and the
// place: an unknown kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/detail/aligned_text.h"
#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

class AddedTokens;

/// The steps in the list `key` of a Sequence, including those of Sequences inside it.
/// **Errors**: std::runtime_error that names the file and the place: more than 100 steps.
std::vector<Json> step_list(const Json& sequence, std::string_view key);

/// A Sequence of normalizers or pre-tokenizers as one step; `read` makes each step of the list
/// `key`.
template <class Subject>
std::function<void(Subject&)> step_sequence(const Json& json, std::string_view key,
                                            std::function<void(Subject&)> (*read)(const Json&)) {
  std::vector<std::function<void(Subject&)>> steps;
  for (const Json& step : step_list(json, key)) steps.push_back(read(step));
  return [steps = std::move(steps)](Subject& subject) {
    for (const auto& step : steps) {
      subject.spend_step();
      step(subject);
    }
  };
}

/// The second step, between added tokens. Rewrites a text: lower case, no accents, one form for
/// equal characters, ...
using Normalizer = std::function<void(AlignedText& text)>;

/// The normalizer that a tokenizer.json describes under "normalizer".
Normalizer read_normalizer(const Json& json);

/// A text and the positions of its words in `text.text`; a token never spans two words.
struct Words {
  AlignedText text;
  std::vector<Span> spans;

  void spend_step() const { text.spend_step(std::ssize(spans)); }
};

/// The third step. Divides words into smaller ones, and may rewrite them. At first the whole text
/// is one word.
using PreTokenizer = std::function<void(Words& words)>;

/// The pre-tokenizer that a tokenizer.json describes under "pre_tokenizer".
PreTokenizer read_pre_tokenizer(const Json& json);

/// The last step: the special tokens that Tokenizer puts around texts, and the corrections of
/// offsets that SpaceTrimmer makes.
struct PostProcessor {
  /// Removes white space at the ends of a token's text from its offsets.
  struct Trim {
    bool keeps_first;  // keep the first token's first space, which was added before the text
  };

  Frame frame;
  std::vector<Trim> trims;  // applied one after the other
};

/// The post-processor that a tokenizer.json describes under "post_processor", if it has one.
/// **Errors**: also a template that omits a text; a token that a vocabulary of `size` does not
/// have.
PostProcessor read_post_processor(const std::optional<Json>& json, index_t size);

/// Removes white space at the ends of tokens from their byte ranges.
class SpaceTrimmer {
 public:
  SpaceTrimmer() = default;
  /// `tokens`: the token of each number.
  SpaceTrimmer(std::vector<PostProcessor::Trim> trims, const TokenList& tokens);

  void apply(std::string_view text, std::span<Piece> pieces, const AddedTokens& added) const;

 private:
  struct Blanks {
    std::int32_t left = 0;  // characters of white space at the token's beginning
    std::int32_t right = 0;
  };
  static Blanks blanks_of(std::string_view token);

  std::vector<PostProcessor::Trim> trims_;
  std::vector<Blanks> blanks_;  // of each number; empty if nothing is trimmed
};

/// From tokens back to a text: changes tokens into parts of a text, which are then joined.
using Decoder = std::function<void(std::vector<std::string>& tokens)>;

/// The decoder that a tokenizer.json describes under "decoder".
Decoder read_decoder(const Json& json);

}  // namespace tessera::text
