// What post-processors do to the bytes of tokens that begin or end with white space.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/text/detail/added_tokens.h"
#include "models/text/detail/post_processor.h"

namespace tessera::text {

/// Takes white space at the ends of tokens off their bytes.
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
