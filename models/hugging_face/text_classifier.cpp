#include "models/hugging_face/text_classifier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/hugging_face/detail/heads.h"
#include "tensor/error.h"

namespace tessera::models {

namespace {

using Encodings = std::span<const text::Encoding>;

/// For orders with NaN last.
double rank_of(double score) {
  return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

std::vector<std::vector<ClassScore>> sorted_classes(const TextClassifier& of, Encodings encodings,
                                                    const TaskOptions& options) {
  const Tensor scores = scored(of.scoring, of.logits(encodings, options));
  const std::vector<float> values = scores.to_vector<float>();
  std::vector<std::vector<ClassScore>> results(encodings.size());
  std::size_t next = 0;
  for (auto& classes : results) {
    for (const std::string& label : of.labels) {
      classes.push_back({label, static_cast<double>(values[next++])});
    }
    std::ranges::stable_sort(
        classes, [](const ClassScore& a, const ClassScore& b) { return a.score > b.score; });
  }
  return results;
}

}  // namespace

std::vector<std::vector<ClassScore>> TextClassifier::operator()(text::ListOf<std::string> texts,
                                                                const TaskOptions& options) const {
  require_label_per_class("TextClassifier", model, labels);
  return sorted_classes(*this, reader.encode_all(texts, options), options);
}

std::vector<std::vector<ClassScore>> TextClassifier::operator()(text::ListOf<text::TextPair> pairs,
                                                                const TaskOptions& options) const {
  require_label_per_class("TextClassifier", model, labels);
  return sorted_classes(*this, reader.encode_all(pairs, options), options);
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
  return scored(scoring, logits(reader.encode_all(pairs, options), options));
}

Tensor TextClassifier::scores(const std::string& query, text::ListOf<std::string> texts,
                              const TaskOptions& options) const {
  require(labels.size() == 1, "TextClassifier::scores", "model must give 1 score per pair, got ",
          labels.size());
  std::vector<text::TextPair> pairs;
  for (const std::string& text : texts) pairs.push_back({query, text});
  return scores(pairs, options).flatten();
}

std::vector<RankedText> TextClassifier::rank(const std::string& query,
                                             text::ListOf<std::string> texts,
                                             const TaskOptions& options) const {
  return best_first(scores(query, texts, options));
}

std::vector<RankedText> best_first(const Tensor& scores) {
  require(scores.rank() == 1, "best_first", "scores must have shape (n), got ", scores.shape());
  std::vector<RankedText> ranked;
  for (const float score : scores.to_vector<float>()) {
    ranked.push_back({std::ssize(ranked), static_cast<double>(score)});
  }
  std::ranges::stable_sort(ranked, [](const RankedText& a, const RankedText& b) {
    return rank_of(a.score) > rank_of(b.score);
  });
  return ranked;
}

namespace {

TextClassifier load(const std::filesystem::path& path, bool is_cross_encoder) {
  const ModelFolder folder(path);
  std::vector<std::string> labels = load_labels(folder);
  const index_t classes = std::ssize(labels);
  const Scoring scoring = (is_cross_encoder ? pair_scoring : text_scoring)(folder.config, classes);
  TextReader reader = load_reader(folder);
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
