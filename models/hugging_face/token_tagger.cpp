#include "tessera/models/hugging_face/token_tagger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/models/hugging_face/detail/tags.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/softmax.h"

namespace tessera::models {

namespace {

/// The tokens of a text without those of the frame, with `labels` scores each.
std::vector<ScoredToken> scored_tokens(const text::Tokenizer& tokenizer, const std::string& text,
                                       const text::Encoding& encoding,
                                       std::span<const float> scores, std::size_t labels) {
  const bool has_prefix = !tokenizer.settings().continuing_subword_prefix.empty();
  std::vector<ScoredToken> tokens;
  for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
    if (encoding.sequence_ids[t] == text::kNoText) continue;
    const index_t id = encoding.ids[t];
    tokens.push_back(
        {.bytes = encoding.offsets[t],
         .continues_word = continues_word(text, encoding.offsets[t], tokenizer.token(id),
                                          has_prefix, tokenizer.special().unknown == id),
         .scores = scores.subspan(t * labels, labels)});
  }
  return tokens;
}

}  // namespace

std::vector<std::vector<Tag>> TokenTagger::operator()(text::ListOf<std::string> texts,
                                                      AggregationStrategy strategy,
                                                      const TaskOptions& options) const {
  require_label_per_class("TokenTagger", model, labels);
  require(!options.stride || strategy != AggregationStrategy::kNone, "TokenTagger",
          "strategy must not be none for windows, because a token can be in two of them");
  std::vector<text::Encoding> encodings;
  std::vector<std::size_t> text_of;  // each encoding
  if (!options.stride) encodings = reader.encode_batch(texts, options);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (options.stride) {
      std::ranges::move(windows(texts[i], options), std::back_inserter(encodings));
    }
    text_of.resize(options.stride ? encodings.size() : i + 1, i);
  }
  std::vector<std::vector<Tag>> found(encodings.size());
  TaskOptions task = options;
  task.name = [&](index_t window) {
    const std::size_t text = text_of[static_cast<std::size_t>(window)];
    return text_name(options.name, static_cast<index_t>(text));
  };
  reader.each_row(
      encodings, task, [&](const Tokens& tokens) { return softmax(model(tokens)); },
      [&](index_t window, std::span<const float> row) {
        const auto n = static_cast<std::size_t>(window);
        found[n] = group_tags(
            scored_tokens(*reader.tokenizer, texts[text_of[n]], encodings[n], row, labels.size()),
            labels, strategy);
      });
  std::vector<std::vector<Tag>> results(texts.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    std::ranges::move(found[n], std::back_inserter(results[text_of[n]]));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto [begin, end] = std::equal_range(text_of.begin(), text_of.end(), i);
    const bool has_windows = end - begin > 1;
    if (has_windows) results[i] = without_overlaps(texts[i], std::move(results[i]));
  }
  return results;
}

std::vector<text::Encoding> TokenTagger::windows(const std::string& text,
                                                 const TaskOptions& options) const {
  text::EncodeOptions encode = reader.encode_options(options);
  if (!options.stride) return {reader.tokenizer->encode(text, encode)};
  encode.stride = *options.stride;
  return reader.tokenizer->encode_windows(text, encode);
}

TokenTagger load_token_tagger(const std::filesystem::path& path) {
  const ModelFolder folder(path);
  std::vector<std::string> labels = load_labels(folder);
  TextReader reader = load_reader(folder);
  reader.warnings = label_warnings(folder.config, labels);
  auto model = load_model<TokenClassifier>(token_classifier_options(folder, std::ssize(labels)),
                                           folder, token_classifier_renames(*folder.family));
  return {.reader = std::move(reader), .model = std::move(model), .labels = std::move(labels)};
}

TokenTagger make_token_tagger(const std::filesystem::path& path, std::vector<std::string> labels,
                              Rng& rng) {
  check_new_labels("make_token_tagger", labels);
  const ModelFolder folder(path);
  TextReader reader = load_reader(folder);
  auto model = with_new_head<TokenClassifier>(token_classifier_options(folder, std::ssize(labels)),
                                              folder, rng);
  return {.reader = std::move(reader), .model = std::move(model), .labels = std::move(labels)};
}

}  // namespace tessera::models
