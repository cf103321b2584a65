#include "models/hugging_face/heads.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "models/hugging_face/config.h"
#include "models/hugging_face/labels.h"
#include "nn/init.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::models {

namespace {

bool is_modern_bert(const ModelFolder& folder) {
  return folder.family->name == "modernbert";
}

/// ModernBERT's head is the same in front of all scores.
HeadOptions modern_bert_head(const Json& config) {
  return {.activation = config::activation(config, "classifier_activation", "gelu"),
          .bias = config.boolean("classifier_bias", false),
          .norm = true};
}

HeadOptions sequence_head(const ModelFolder& folder) {
  const std::string_view family = folder.family->name;
  if (is_modern_bert(folder)) return modern_bert_head(folder.config);
  if (family == "electra") return {.activation = nn::Activation::kGelu};
  if (family == "distilbert") return {.activation = nn::Activation::kRelu};
  return {};  // tanh: the pooler of BERT, the dense layer of RoBERTa's head
}

Pooling sequence_pooling(const ModelFolder& folder) {
  if (!is_modern_bert(folder)) return Pooling::kCls;
  const std::string name = folder.config.text("classifier_pooling", "cls");
  if (name == "cls") return Pooling::kCls;
  if (name == "mean") return Pooling::kMean;
  const Json key = folder.config.at("classifier_pooling");
  key.fail("wanted cls or mean, got ", key.described());
}

/// The dropout before the classifier: the config's own for it or, like the encoder's, for all.
double classifier_dropout(const ModelFolder& folder, const char* key) {
  const std::string_view family = folder.family->name;
  if (family == "albert") key = "classifier_dropout_prob";
  const double otherwise = family == "albert" ? 0.1 : folder.encoder.dropout;
  return config::probability(folder.config, key, otherwise);
}

/// The activation of a masked language model: the encoder's in BERT and its near relatives, else
/// always gelu.
nn::Activation masked_activation(const ModelFolder& folder) {
  const std::string_view family = folder.family->name;
  const Json& config = folder.config;
  if (is_modern_bert(folder)) return *modern_bert_head(config).activation;
  if (family == "distilbert") return config::activation(config, "activation", "gelu");
  if (family == "albert") return config::activation(config, "hidden_act", "gelu_new");
  if (family == "bert" || family == "new") return config::activation(config, "hidden_act", "gelu");
  return nn::Activation::kGelu;
}

}  // namespace

std::vector<std::string> load_labels(const ModelFolder& folder) {
  std::vector<std::string> labels = read_labels(folder.config);
  if (const auto shape = folder.shape("classifier.weight"); shape && !shape->empty()) {
    check_label_count(folder.config, labels, (*shape)[0]);
  }
  return labels;
}

// What may throw is computed first: where a later initializer of an aggregate throws, GCC 12 frees
// a vector before it twice.
SequenceClassifierOptions sequence_classifier_options(const ModelFolder& folder, index_t classes) {
  const Pooling pooling = sequence_pooling(folder);
  const HeadOptions head = sequence_head(folder);
  const double dropout = classifier_dropout(
      folder, folder.family->name == "distilbert" ? "seq_classif_dropout" : "classifier_dropout");
  return {.tokens = folder.encoder,
          .classes = classes,
          .pooling = pooling,
          .dropout = dropout,
          .head = head};
}

TokenClassifierOptions token_classifier_options(const ModelFolder& folder, index_t classes) {
  TokenClassifierOptions options = {.tokens = folder.encoder, .classes = classes};
  options.dropout = classifier_dropout(folder, "classifier_dropout");
  if (is_modern_bert(folder)) options.head = modern_bert_head(folder.config);
  return options;
}

MaskedLmOptions masked_lm_options(const ModelFolder& folder) {
  const Json& config = folder.config;
  MaskedLmOptions options = {.tokens = folder.encoder};
  options.activation = masked_activation(folder);
  options.tied = config.boolean("tie_word_embeddings", true);
  if (is_modern_bert(folder)) {
    options.dense_bias = modern_bert_head(config).bias;
    options.bias = config.boolean("decoder_bias", true);
  }
  return options;
}

std::vector<Rename> token_classifier_renames(const Family& family) {
  const bool differ = std::ranges::any_of(
      family.head_names, [](const WeightName& line) { return line.ours == "token_classifier.*"; });
  return differ ? std::vector<Rename>{{"classifier", "token_classifier"}} : std::vector<Rename>{};
}

void check_new_labels(const char* op, const std::vector<std::string>& labels) {
  require(!labels.empty(), op, "wanted at least one label, got none");
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    json_quoted(label, op);  // which checks that it is UTF-8
    require(seen.insert(label).second, op, "the label ", printable(label), " is there twice");
  }
}

Tensor new_parameter(const std::string& name, const Shape& shape, const ModelFolder& folder,
                     Rng& rng) {
  const bool is_of_head = name.starts_with("head.") && !folder.has(name);
  if (!is_of_head && !name.starts_with("classifier.")) return folder.weight(name, shape);
  if (shape.size() > 1) {
    return nn::normal(shape, config::epsilon(folder.config, "initializer_range", 0.02), rng);
  }
  return full(shape, name.ends_with("norm.weight") ? 1 : 0, kFloat32);
}

}  // namespace tessera::models
