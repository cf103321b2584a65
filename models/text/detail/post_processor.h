// Post-processors, the last step from a text to tokens: they put special tokens around texts and
// correct offsets, as described by a tokenizer.json.
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
  /// Removes white space at the ends of a token's text from its offsets.
  struct Trim {
    bool keeps_first;  // keep the first token's first space, which was added before the text
  };

  Frame frame;
  std::vector<Trim> trims;  // applied one after the other
};

/// The post-processor that a tokenizer.json describes under "post_processor", if it has one.
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind; a template
/// that omits a text; a token that a vocabulary of `size` does not have.
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

}  // namespace tessera::text
