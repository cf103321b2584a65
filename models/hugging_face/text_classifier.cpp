#include "tessera/models/hugging_face/text_classifier.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/tensor/error.h"

namespace tessera::models {

namespace {

using Encodings = std::span<const text::Encoding>;

/// The numbers of `values`, the largest first; of equal ones the lower number first.
std::vector<std::size_t> largest_first(std::span<const float> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return values[i]; });
  return order;
}

std::vector<std::vector<ClassScore>> sorted_classes(const TextClassifier& of, Encodings encodings,
                                                    const TaskOptions& options) {
  const Tensor logits = of.logits(encodings, options);
  const std::vector<float> outputs = logits.to_vector<float>();
  const std::vector<float> scores = scored(of.scoring, logits).to_vector<float>();
  std::vector<std::vector<ClassScore>> results(encodings.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::size_t first = i * of.labels.size();
    for (const std::size_t k : largest_first(std::span(outputs).subspan(first, of.labels.size()))) {
      results[i].push_back({of.labels[k], static_cast<double>(scores[first + k])});
    }
  }
  return results;
}

/// The outputs (n, 1) for a query with each text.
Tensor query_logits(const TextClassifier& of, const std::string& query,
                    text::ListOf<std::string> texts, const TaskOptions& options) {
  require(of.labels.size() == 1, "TextClassifier::scores", "model must give 1 score per pair, got ",
          of.labels.size());
  require_label_per_class("TextClassifier", of.model, of.labels);
  std::vector<text::TextPair> pairs;
  for (const std::string& text : texts) pairs.push_back({query, text});
  return of.logits(of.reader.encode_batch(std::span<const text::TextPair>(pairs), options),
                   options);
}

}  // namespace

std::vector<std::vector<ClassScore>> TextClassifier::operator()(text::ListOf<std::string> texts,
                                                                const TaskOptions& options) const {
  require_label_per_class("TextClassifier", model, labels);
  return sorted_classes(*this, reader.encode_batch(texts, options), options);
}

std::vector<std::vector<ClassScore>> TextClassifier::operator()(text::ListOf<text::TextPair> pairs,
                                                                const TaskOptions& options) const {
  require_label_per_class("TextClassifier", model, labels);
  return sorted_classes(*this, reader.encode_batch(pairs, options), options);
}

Tensor TextClassifier::logits(Encodings encodings, const TaskOptions& options) const {
  const index_t classes = model.classifier.weight.size(0);
  Tensor result = Tensor::empty({std::ssize(encodings), classes}, kFloat32);
  auto* rows = result.mutable_data<float>();
  reader.each_row(
      encodings, options, [&](const Tokens& tokens) { return model(tokens); },
      [&](index_t text, std::span<const float> row) {
        std::ranges::copy(row, rows + text * classes);
      });
  return result;
}

Tensor TextClassifier::scores(text::ListOf<text::TextPair> pairs,
                              const TaskOptions& options) const {
  require_label_per_class("TextClassifier", model, labels);
  return scored(scoring, logits(reader.encode_batch(pairs, options), options));
}

Tensor TextClassifier::scores(const std::string& query, text::ListOf<std::string> texts,
                              const TaskOptions& options) const {
  return scored(scoring, query_logits(*this, query, texts, options)).flatten();
}

std::vector<RankedText> TextClassifier::rank(const std::string& query,
                                             text::ListOf<std::string> texts,
                                             const TaskOptions& options) const {
  const Tensor logits = query_logits(*this, query, texts, options);
  const std::vector<float> scores = scored(scoring, logits).to_vector<float>();
  std::vector<RankedText> ranked;
  for (const std::size_t i : largest_first(logits.to_vector<float>())) {
    ranked.push_back({static_cast<index_t>(i), static_cast<double>(scores[i])});
  }
  return ranked;
}

namespace {

/// The scoring of a cross-encoder, which newer versions save in a file for sentence-transformers.
Scoring cross_encoder_scoring(const ModelFolder& folder, index_t classes) {
  const auto json = find_json(folder.path / "config_sentence_transformers.json", kSmallJson);
  if (json && json->has("default_prompt_name")) {
    json->at("default_prompt_name").fail("must be null for a cross-encoder");
  }
  const auto function = json ? json->find("activation_fn") : std::nullopt;
  return function ? scoring_named(*function) : pair_scoring(folder.config, classes);
}

TextClassifier load(const std::filesystem::path& path, bool is_cross_encoder) {
  const ModelFolder folder(path);
  std::vector<std::string> labels = load_labels(folder);
  const index_t classes = std::ssize(labels);
  const Scoring scoring = is_cross_encoder ? cross_encoder_scoring(folder, classes)
                                           : text_scoring(folder.config, classes);
  TextReader reader = load_reader(folder);
  reader.warnings = label_warnings(folder.config, labels);
  auto model = load_model<SequenceClassifier>(sequence_classifier_options(folder, classes), folder);
  return {.reader = std::move(reader),
          .model = std::move(model),
          .labels = std::move(labels),
          .scoring = scoring,
          .is_cross_encoder = is_cross_encoder};
}

}  // namespace

TextClassifier load_text_classifier(const std::filesystem::path& folder) {
  return load(folder, false);
}

TextClassifier make_text_classifier(const std::filesystem::path& path,
                                    std::vector<std::string> labels, Scoring scoring, Rng& rng) {
  check_new_labels("make_text_classifier", labels);
  const ModelFolder folder(path);
  TextReader reader = load_reader(folder);
  auto model = with_new_head<SequenceClassifier>(
      sequence_classifier_options(folder, std::ssize(labels)), folder, rng);
  return {.reader = std::move(reader),
          .model = std::move(model),
          .labels = std::move(labels),
          .scoring = scoring};
}

TextClassifier load_cross_encoder(const std::filesystem::path& folder) {
  return load(folder, true);
}

}  // namespace tessera::models
