#include "models/hugging_face/detail/heads.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "models/hugging_face/detail/config.h"
#include "models/hugging_face/detail/family.h"
#include "models/hugging_face/detail/labels.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::models {

namespace {

/// The dropout before a classifier.
double classifier_dropout(const ModelFolder& folder, std::string_view key) {
  return config::probability(folder.config, key,
                             folder.family->heads.dropout.value_or(folder.options.dropout));
}

}  // namespace

std::vector<std::string> load_labels(const ModelFolder& folder) {
  std::vector<std::string> labels = read_labels(folder.config);
  if (const auto shape = folder.shape("classifier.weight"); shape && !shape->empty()) {
    check_label_count(folder.config, labels, (*shape)[0]);
  }
  return labels;
}

// Everything that may throw is computed first: if a later initializer of an aggregate throws, GCC
// 12 frees a vector of an earlier one twice.
SequenceClassifierOptions sequence_classifier_options(const ModelFolder& folder, index_t classes) {
  const FamilyHeads& of = folder.family->heads;
  const Pooling pooling = of.pooling != nullptr ? of.pooling(folder.config) : Pooling::kCls;
  const PredictionHeadOptions head = of.shared != nullptr
                                         ? of.shared(folder.config)
                                         : PredictionHeadOptions{.activation = of.sequence};
  const double dropout = classifier_dropout(folder, of.text_dropout);
  return {.tokens = folder.options,
          .classes = classes,
          .pooling = pooling,
          .dropout = dropout,
          .head = head};
}

TokenClassifierOptions token_classifier_options(const ModelFolder& folder, index_t classes) {
  const FamilyHeads& of = folder.family->heads;
  TokenClassifierOptions options = {.tokens = folder.options, .classes = classes};
  options.dropout = classifier_dropout(folder, of.token_dropout);
  if (of.shared != nullptr) options.head = of.shared(folder.config);
  return options;
}

MaskedLmOptions masked_lm_options(const ModelFolder& folder) {
  const FamilyHeads& of = folder.family->heads;
  const Json& config = folder.config;
  MaskedLmOptions options = {.tokens = folder.options, .activation = of.masked};
  options.tied = config.boolean("tie_word_embeddings", true);
  if (!of.masked_key.empty() && config.has(of.masked_key)) {
    options.activation = config::activation(config, of.masked_key, "");
  }
  if (of.shared != nullptr) {
    const PredictionHeadOptions head = of.shared(config);
    options.activation = *head.activation;
    options.dense_bias = head.bias;
    options.bias = config.boolean("decoder_bias", true);
  }
  return options;
}

std::vector<Rename> token_classifier_renames(const Family& family) {
  const bool differ = std::ranges::any_of(
      family.head_names, [](const WeightName& line) { return line.ours == "token_classifier.*"; });
  if (!differ) return {};
  return {{"classifier", "token_classifier"}};
}

void check_new_labels(const char* op, const std::vector<std::string>& labels) {
  require(!labels.empty(), op, "labels must not be empty");
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    JsonText(label, op);  // checks that the label is UTF-8
    require(seen.insert(label).second, op, "labels must be different, got ", printable(label),
            " twice");
  }
}

nn::Source new_head_source(const ModelFolder& folder, Rng& rng) {
  const double std = config::epsilon(folder.config, "initializer_range", 0.02);
  return nn::Source([&folder, &rng, std](const std::string& name, const Shape& shape,
                                         const nn::Init&) {
    const bool is_of_head = name.starts_with("head.") && !folder.has(name);
    if (!is_of_head && !name.starts_with("classifier.")) return folder.weight(name, shape);
    const nn::Init init =
        shape.size() > 1 ? nn::normal(std) : nn::constant(name.ends_with("norm.weight") ? 1 : 0);
    return init(shape, rng);
  });
}

}  // namespace tessera::models
