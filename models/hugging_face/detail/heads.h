// The part of each family between its encoder and the results: heads, the names of classes, and the
// function that converts scores to probabilities.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/classifier.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/hugging_face/text_classifier.h"
#include "tessera/models/masked_lm.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::models {

/// The names of a model's classes, by number, from `id2label`. Without `id2label`, the names are
/// "LABEL_0", "LABEL_1", ..., and `num_labels` (by default 2) is their number.
///
/// **Errors**: numbers that are not 0, 1, 2, ... without a gap, each once; no classes; a name that
/// is neither text nor a number; a `label2id` that is not an object.
std::vector<std::string> read_labels(const Json& config);

/// Warnings about a `num_labels` or a `label2id` that contradicts `labels`, those of `id2label`.
std::vector<std::string> label_warnings(const Json& config, const std::vector<std::string>& labels);

/// Throws an error about `config`'s labels if their number differs from the classifier's rows.
void check_label_count(const Json& config, const std::vector<std::string>& labels, index_t rows);

/// Throws an error that begins with `op` if there is not one label per class of `model`.
template <class Model>
void require_label_per_class(const char* op, const Model& model,
                             const std::vector<std::string>& labels) {
  const index_t classes = model.classifier.weight.size(0);
  require(std::ssize(labels) == classes, op, "labels must be ", classes,
          ", one per class of the model, got ", labels.size());
}

/// The scoring of transformers' text classification. `problem_type` regression: none;
/// multi_label_classification: sigmoid; otherwise sigmoid for one class and softmax for several.
/// **Errors**: an unknown problem_type.
Scoring text_scoring(const Json& config, index_t classes);

/// The scoring of sentence-transformers' CrossEncoder: the last part of the dotted name in
/// `sentence_transformers.activation_fn` or in the older `sbert_ce_default_activation_function`. If
/// both keys are absent: sigmoid for one class, and none for several.
/// **Errors**: as scoring_named.
Scoring pair_scoring(const Json& config, index_t classes);
/// The scoring that a function of torch gives, by its dotted name. **Errors**: a function other
/// than Identity, Sigmoid and Softmax of torch.
Scoring scoring_named(const Json& function);

/// **Shapes**: logits (..., C) -> the same.
Tensor scored(Scoring scoring, const Tensor& logits);

/// The names of a folder's classes. **Errors**: as read_labels; a number of names different from
/// the classifier's rows.
std::vector<std::string> load_labels(const ModelFolder& folder);

/// Options of the models with a head that a folder's config describes.
/// **Errors**: std::runtime_error with the file's name and the key.
SequenceClassifierOptions sequence_classifier_options(const ModelFolder& folder, index_t classes);
TokenClassifierOptions token_classifier_options(const ModelFolder& folder, index_t classes);
MaskedLMOptions masked_lm_options(const ModelFolder& folder);

/// The names under which a classifier of tokens is loaded. If a family's classifiers of texts have
/// a different name for the last layer, such a layer is not loaded as one of tokens, although the
/// shapes match.
std::vector<Rename> token_classifier_renames(const Family& family);
/// The names under which the ends of answers are loaded: never a classifier of two labels.
inline const std::vector<Rename> kAnswerRenames = {{"classifier", "qa_outputs"}};

/// Throws std::invalid_argument that begins with `op` if these cannot be the labels of a new head:
/// there must be at least one, all different, in UTF-8.
void check_new_labels(const char* op, const std::vector<std::string>& labels);

/// The parameters of a model with a new head. Those of the encoder, and of a dense layer if the
/// folder has one, come from the folder. The others are new, as in transformers:
/// N(0, initializer_range^2), biases 0, a norm's weight 1. `folder` and `rng` must live until the
/// model is made.
nn::ParameterSource new_head_source(const ModelFolder& folder, Rng& rng);

/// A model with the folder's encoder and a new classifier, to be trained: in training mode.
template <nn::Module M, class Options>
M with_new_head(const Options& options, const ModelFolder& folder, Rng& rng) {
  const ProfileScope scope("load weights");
  M model(options, new_head_source(folder, rng));
  folder.require_encoder_in(nn::state_dict(model));
  return model;
}

}  // namespace tessera::models
