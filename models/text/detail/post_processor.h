// Post-processors, the last step from a text to tokens: what a tokenizer.json puts around texts, and
// how it mends their offsets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/text/detail/added_tokens.h"
#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

struct PostProcessor {
  /// White space at the ends of a token's text is left out of its offsets.
  struct Trim {
    bool keeps_first;  // the first token's first space: it was added before the text
  };

  Layout layout;
  std::vector<Trim> trims;  // one after the other
};

/// The post-processor that a tokenizer.json describes under "post_processor", if it does.
/// **Errors**: std::runtime_error that names the file and the place: a kind that is not known; a
/// template that leaves out a text; a token that a vocabulary of `size` does not have.
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
    std::int32_t left = 0;  // characters of white space that the token begins with
    std::int32_t right = 0;
  };
  static Blanks blanks_of(std::string_view token);

  std::vector<PostProcessor::Trim> trims_;
  std::vector<Blanks> blanks_;  // of each number; empty if nothing is trimmed
};

}  // namespace tessera::text
