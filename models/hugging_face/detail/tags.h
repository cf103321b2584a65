// Converts a score for each label of each token to named parts of a text: BIO tags, grouped.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/hugging_face/token_tagger.h"
#include "tessera/models/text/tokenizer.h"

namespace tessera::models {

/// A token and the probabilities of its labels.
struct ScoredToken {
  text::Span bytes;
  bool continues_word;  // continues the word of the previous token
  std::span<const float> scores;
};

/// Whether a token of `text` at `bytes` continues a word. In a vocabulary that marks such tokens by
/// a prefix: if its length differs from that of the text there. In other vocabularies: if there is
/// no space before it or at its beginning. An unknown token begins a word.
bool continues_word(std::string_view text, text::Span bytes, std::string_view token,
                    bool has_prefix, bool is_unknown);

/// The tags of a text except those called "O". `tokens` are those of the text, without those of a
/// frame, in order.
///
/// A label "B-X" begins a group. "I-X", or a label without prefix, continues a group of X before
/// it, or begins one. A group's score is the mean of its scores; its label is the part after the
/// first "-". If scores are equal, the label with the lower number is used.
/// **Errors**: a token without a score for each label.
/// **Source**: Ramshaw and Marcus, "Text chunking using transformation-based learning", 1995,
/// section 4, for BIO; transformers.TokenClassificationPipeline for the strategies.
std::vector<Tag> group_tags(std::span<const ScoredToken> tokens,
                            std::span<const std::string> labels, AggregationStrategy strategy);

/// The tags of all windows of `text` in text order, without overlaps: of two tags that overlap, the
/// one with more characters is kept; of equally long ones, the one with the higher score.
/// **Source**: aggregate_overlapping_entities of transformers.TokenClassificationPipeline.
std::vector<Tag> without_overlaps(std::string_view text, std::vector<Tag> tags);

}  // namespace tessera::models
