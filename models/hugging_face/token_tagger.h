// Finds names, places and other parts of texts, by a pretrained model.
//
//   const models::TokenTagger model = models::load_token_tagger("bert-base-NER");
//   const auto results = model({"Ada Lovelace lived in London."});
//   results[0][0];             // label "PER", bytes 0 to 12, and a score
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/classifier.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/tensor/random.h"

namespace tessera::models {

/// The conversion of tokens to tags. The kind of a label is the label without "B-" or "I-".
/// Neighbours of the same kind form a group; a label with "B-" begins a new group.
/// **Source**: aggregation_strategy of transformers.TokenClassificationPipeline.
enum class AggregationStrategy {
  kNone,     // no groups: each token has its best label
  kSimple,   // groups of tokens, each with its best label
  kFirst,    // groups of words; a word has the label of its first token
  kAverage,  // groups of words; a word has the label with the highest mean score over its tokens
  kMax,      // groups of words; a word has the label of its token with the highest score
};

/// The strategy called "none", "simple", "first", "average" or "max". **Errors**: any other name.
AggregationStrategy aggregation_strategy(std::string_view name);

/// A part of a text and its label.
struct Tag {
  std::string label;  // "B-PER" of a token; of a group, the part after the first "-": "PER"
  double score;       // the probability of the label; of a group, the mean
  text::Span bytes;
};

/// A token classifier with its tokenizer and the names of its labels.
/// **Source**: Devlin et al., "BERT", 2018, section 5.3; transformers.TokenClassificationPipeline.
struct TokenTagger {
  TextReader reader;
  TokenClassifier model;
  std::vector<std::string> labels;

  /// The tags of each text, in text order, except those with the label "O". Spans are in bytes of
  /// the given text. With options.stride, a text that is too long is read in windows, not
  /// truncated; of tags that overlap, the longer one is kept.
  /// **Errors**: as TextReader::encode_options, Tokenizer::encode_windows and TextReader::each_row;
  /// not as many labels as the model has classes; a stride with the strategy kNone.
  std::vector<std::vector<Tag>> operator()(
      text::ListOf<std::string> texts, AggregationStrategy strategy = AggregationStrategy::kSimple,
      const TaskOptions& options = {}) const;

  /// The windows in which a text is read; without options.stride, only one. **Errors**: as above,
  /// except those of the model.
  std::vector<text::Encoding> windows(const std::string& text,
                                      const TaskOptions& options = {}) const;
};

/// The token classifier in a folder. **Errors**: as load_text_classifier.
/// **Source**: transformers.AutoModelForTokenClassification.from_pretrained.
TokenTagger load_token_tagger(const std::filesystem::path& folder);

/// The folder's encoder with a new classifier for these labels, in training mode. New weights are
/// drawn as in transformers.
/// **Errors**: as load_text_classifier; std::invalid_argument: no labels, equal labels, or labels
/// that are not UTF-8. **Source**: as load_token_tagger.
TokenTagger make_token_tagger(const std::filesystem::path& folder, std::vector<std::string> labels,
                              Rng& rng = default_rng());

}  // namespace tessera::models
