#include "tessera/models/hugging_face/detail/heads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/ops/softmax.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

namespace {

constexpr index_t kMostLabels = 100'000;
constexpr index_t kDefaultLabels = 2;

/// The number in a key of id2label, "0" or "12"; nullopt if it is not a number.
std::optional<index_t> label_number(std::string_view key) {
  index_t number = -1;
  const bool whole = parse_number(key, number);
  const bool plain = !key.empty() && key.front() != '-' && (key.size() == 1 || key.front() != '0');
  return whole && plain ? std::optional(number) : std::nullopt;
}

std::vector<std::string> numbered_labels(index_t count) {
  std::vector<std::string> labels;
  for (index_t i = 0; i < count; ++i) labels.push_back(str_cat("LABEL_", i));
  return labels;
}

/// The name of a class as Python prints it: it may be a number, True or False.
std::string name_of(const Json& label) {
  switch (label.kind()) {
    case Json::Kind::kInteger:
    case Json::Kind::kNumber:
      return JsonText(label).text();
    case Json::Kind::kBoolean:
      return label.boolean() ? "True" : "False";
    default:
      return std::string(label.text());
  }
}

std::vector<std::string> labels_of(const Json& table) {
  const index_t count = table.size();
  if (count == 0) table.fail("must have at least one label, got none");
  if (count > kMostLabels) table.fail("must have at most ", kMostLabels, " labels, got ", count);
  std::vector<std::optional<std::string>> found(static_cast<std::size_t>(count));
  for (const Json& label : table.items()) {
    const std::optional<index_t> number = label_number(label.key());
    if (!number) label.fail("key must be a class number (0, 1, ...), got ", printable(label.key()));
    if (*number >= count) {
      label.fail("class number must be from 0 to ", count - 1, ", got ", *number);
    }
    found[static_cast<std::size_t>(*number)] = name_of(label);
  }
  std::vector<std::string> labels;
  for (const auto& label : found)
    labels.push_back(label.value());  // each key occurs once, so no label is missing
  return labels;
}

/// Throws if `label2id` does not map each label to its number. Labels may share a name.
void check_inverse(const Json& inverse, const std::vector<std::string>& labels) {
  std::map<std::string_view, index_t> numbers;
  for (const Json& value : inverse.items()) {
    const index_t number = value.integer();
    if (number < 0 || number >= std::ssize(labels)) {
      value.fail("must be a class number of id2label, from 0 to ", labels.size() - 1, ", got ",
                 number);
    }
    const std::string& label = labels[static_cast<std::size_t>(number)];
    if (label != value.key()) {
      value.fail("must be the label's number in id2label, got ", number, ", which is ",
                 printable(label));
    }
    numbers.emplace(value.key(), number);
  }
  for (const std::string& label : labels) {
    if (!numbers.contains(label))
      inverse.fail("must have the labels of id2label, got none for ", printable(label));
  }
}

}  // namespace

std::vector<std::string> read_labels(const Json& config) {
  const auto table = config.find("id2label");
  if (!table) {
    return numbered_labels(config.integer("num_labels", JsonRange{1, kMostLabels}, kDefaultLabels));
  }
  if (const auto inverse = config.find("label2id")) inverse->as_object();  // checks its kind
  return labels_of(table->as_object());
}

std::vector<std::string> label_warnings(const Json& config,
                                        const std::vector<std::string>& labels) {
  std::vector<std::string> warnings;
  if (!config.has("id2label")) return warnings;
  const auto warn_if = [&](const char* key, const auto& check) {
    const auto value = config.find(key);
    try {
      if (value) check(*value);
    } catch (const std::runtime_error& error) {
      warnings.push_back(str_cat(error.what(), "; the names are those in id2label"));
    }
  };
  warn_if("num_labels", [&](const Json& count) {
    if (count.integer() != std::ssize(labels)) {
      count.fail("must be ", labels.size(), ", the number of labels in id2label, got ",
                 count.integer());
    }
  });
  warn_if("label2id", [&](const Json& inverse) { check_inverse(inverse, labels); });
  return warnings;
}

void check_label_count(const Json& config, const std::vector<std::string>& labels, index_t rows) {
  if (rows == std::ssize(labels)) return;
  const auto table = config.find("id2label");
  (table ? *table : config)
      .fail("must have ", rows, " labels, the rows of classifier.weight, got ", labels.size(),
            table ? "" : " (the default, as id2label is absent)");
}

Scoring text_scoring(const Json& config, index_t classes) {
  const std::string type = config.text("problem_type", "");
  if (type == "regression") return Scoring::kNone;
  if (type == "multi_label_classification") return Scoring::kSigmoid;
  if (type != "single_label_classification" && !type.empty()) {
    config.at("problem_type")
        .fail("must be regression, single_label_classification or multi_label_classification, got ",
              printable(type));
  }
  return classes == 1 ? Scoring::kSigmoid : Scoring::kSoftmax;
}

Scoring pair_scoring(const Json& config, index_t classes) {
  std::optional<Json> function;
  if (const auto settings = config.find("sentence_transformers")) {
    function = settings->find("activation_fn");
  }
  if (!function) function = config.find("sbert_ce_default_activation_function");
  if (!function) return classes == 1 ? Scoring::kSigmoid : Scoring::kNone;
  return scoring_named(*function);
}

Scoring scoring_named(const Json& function) {
  const std::string_view path = function.text();
  const std::string_view name = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  // The reference ignores a function of the folder's own code.
  if (!path.starts_with("torch.")) {
    function.fail("must be Identity, Sigmoid or Softmax of torch, got ", printable(path));
  }
  if (name == "Identity") return Scoring::kNone;
  if (name == "Sigmoid") return Scoring::kSigmoid;
  if (name == "Softmax") return Scoring::kSoftmax;
  function.fail("must be Identity, Sigmoid or Softmax, got ", printable(name));
}

Tensor scored(Scoring scoring, const Tensor& logits) {
  switch (scoring) {
    case Scoring::kNone:
      return logits;
    case Scoring::kSigmoid:
      return sigmoid(logits);
    case Scoring::kSoftmax:
      return softmax(logits);
  }
  fail("scored", "scoring must be kNone, kSigmoid or kSoftmax");
}

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
  const bool head_first = of.head_first != nullptr && of.head_first(folder.config);
  return {.token_encoder = folder.options,
          .num_labels = classes,
          .pooling = pooling,
          .dropout = dropout,
          .head = head,
          .head_first = head_first};
}

TokenClassifierOptions token_classifier_options(const ModelFolder& folder, index_t classes) {
  const FamilyHeads& of = folder.family->heads;
  TokenClassifierOptions options = {.token_encoder = folder.options, .num_labels = classes};
  options.dropout = classifier_dropout(folder, of.token_dropout);
  if (of.shared != nullptr) options.head = of.shared(folder.config);
  return options;
}

MaskedLMOptions masked_lm_options(const ModelFolder& folder) {
  const FamilyHeads& of = folder.family->heads;
  const Json& config = folder.config;
  MaskedLMOptions options = {.token_encoder = folder.options, .activation = of.masked};
  options.tied = config.boolean("tie_word_embeddings", !of.plain_masked);
  options.transform = !of.plain_masked;
  if (!of.masked_bias_key.empty()) {
    options.bias = config.boolean(of.masked_bias_key, of.masked_bias);
  }
  if (!of.masked_key.empty() && config.has(of.masked_key)) {
    options.activation = config::activation(config, of.masked_key, "");
  }
  if (of.shared != nullptr) {
    const PredictionHeadOptions head = of.shared(config);
    options.activation = *head.activation;
    options.dense_bias = head.bias;
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

nn::ParameterSource new_head_source(const ModelFolder& folder, Rng& rng) {
  const double std = config::epsilon(folder.config, "initializer_range", 0.02);
  return nn::ParameterSource(
      [&folder, &rng, std](const std::string& name, const Shape& shape, const nn::Init&) {
        const bool is_of_head = name.starts_with("head.") && !folder.has(name);
        if (!is_of_head && !name.starts_with("classifier.")) return folder.weight(name, shape);
        const nn::Init init = shape.size() > 1
                                  ? nn::init::normal(std)
                                  : nn::init::constant(name.ends_with("norm.weight") ? 1 : 0);
        return init(shape, rng);
      });
}

}  // namespace tessera::models
