// From a score for each label of each token to named parts of a text: BIO tags, grouped.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/hugging_face/token_tagger.h"
#include "models/text/tokenizer.h"

namespace tessera::models {

/// A token and the probabilities of its labels.
struct ScoredToken {
  text::Span bytes;
  bool continues_word;  // it continues the word of the token in front of it
  std::span<const float> scores;
};

/// Whether a token of `text` at `bytes` continues a word. In a vocabulary that marks
/// such tokens by a prefix, if it has more or fewer characters than the text there; in others, if
/// no space is in front of it or begins it. An unknown token begins a word.
bool continues_word(std::string_view text, text::Span bytes, std::string_view token,
                    bool has_prefix, bool is_unknown);

/// The tags of a text without those called "O". `tokens` are those of the text, none that a layout
/// added, in order.
///
/// A label "B-X" begins a group, "I-X", as any label without one of the two, goes on with a group
/// of X in front of it, or begins one. A group's score is the mean of those in it; its label is
/// what stands after the last "-". Of equal scores the one of the lower number counts.
/// **Errors**: a token that has not a score for each label.
/// **Source**: Ramshaw and Marcus, "Text chunking using transformation-based learning", 1995,
/// section 4, for BIO; transformers.TokenClassificationPipeline for the groupings.
std::vector<Tag> group_tags(std::span<const ScoredToken> tokens,
                            std::span<const std::string> labels, TagGrouping grouping);

}  // namespace tessera::models
