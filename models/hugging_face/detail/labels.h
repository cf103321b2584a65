// The meaning of a classifier's scores, from its config.json: the names of its classes, and the
// function that converts its scores to probabilities.
#pragma once

#include <string>
#include <vector>

#include "models/hugging_face/text_classifier.h"
#include "tensor/error.h"
#include "tensor/io/json.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// The names of a model's classes, by number: `id2label`; if it is absent, "LABEL_0", "LABEL_1",
/// ..., as many as `num_labels`, by default two.
///
/// **Errors**: numbers that are not 0, 1, 2, ... without a gap, each once; no classes; a different
/// `num_labels` or `label2id`.
std::vector<std::string> read_labels(const Json& config);

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

/// The scoring of transformers' text classification: none for the `problem_type` regression,
/// sigmoid for multi_label_classification; otherwise sigmoid for one class and softmax for several.
/// **Errors**: an unknown problem_type.
Scoring text_scoring(const Json& config, index_t classes);

/// The scoring of sentence-transformers' CrossEncoder: `sentence_transformers.activation_fn` or the
/// older `sbert_ce_default_activation_function`, of which only the last part of the dotted name is
/// used; without either sigmoid for one class and none for several.
/// **Errors**: a function other than Identity, Sigmoid and Softmax.
Scoring pair_scoring(const Json& config, index_t classes);

/// **Shapes**: logits (..., C) -> the same.
Tensor scored(Scoring scoring, const Tensor& logits);

}  // namespace tessera::models
