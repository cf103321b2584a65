#include "models/hugging_face/token_tagger.h"

#include <utility>

#include "models/hugging_face/detail/heads.h"
#include "models/hugging_face/detail/tags.h"
#include "tensor/error.h"
#include "tensor/ops/softmax.h"

namespace tessera::models {

namespace {

/// The tokens of a text without those of the frame, with `labels` scores each.
std::vector<ScoredToken> scored_tokens(const text::Tokenizer& tokenizer, const std::string& text,
                                       const text::Encoding& encoding,
                                       std::span<const float> scores, std::size_t labels) {
  const bool has_prefix = !tokenizer.settings().continuing_prefix.empty();
  std::vector<ScoredToken> tokens;
  for (std::size_t t = 0; t < encoding.ids.size(); ++t) {
    if (encoding.texts[t] == text::kNoText) continue;
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
  const std::vector<text::Encoding> encodings = reader.encode_all(texts, options);
  std::vector<std::vector<Tag>> results(texts.size());
  reader.each_row(
      encodings, options, [&](const Tokens& tokens) { return softmax(model(tokens)); },
      [&](index_t text, std::span<const float> row) {
        const auto n = static_cast<std::size_t>(text);
        results[n] =
            group_tags(scored_tokens(*reader.tokenizer, texts[n], encodings[n], row, labels.size()),
                       labels, strategy);
      });
  return results;
}

TokenTagger load_token_tagger(const std::filesystem::path& path) {
  const ModelFolder folder(path);
  std::vector<std::string> labels = load_labels(folder);
  TextReader reader = load_reader(folder);
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
