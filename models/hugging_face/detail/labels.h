// The meaning of a classifier's scores, from its config.json: the names of its classes, and the
// function that makes probabilities of its scores.
#pragma once

#include <string>
#include <vector>

#include "models/hugging_face/text_classifier.h"
#include "tensor/io/json.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// The names of a model's classes, by number: `id2label`, or "LABEL_0", "LABEL_1", ... where it is
/// absent, two of them unless `num_labels` tells another count.
///
/// **Errors**: numbers that are not 0, 1, 2, ... without a gap, each once; no class; a `num_labels`
/// or a `label2id` that says something else.
std::vector<std::string> read_labels(const Json& config);

/// Throws an error about `config`'s labels unless there is one for each row of the classifier.
void check_label_count(const Json& config, const std::vector<std::string>& labels, index_t rows);

/// The scoring that transformers' text classification takes: by `problem_type` regression none,
/// multi_label_classification sigmoid; else sigmoid for one class and softmax for several.
/// **Errors**: another problem_type.
Scoring text_scoring(const Json& config, index_t classes);

/// The scoring that sentence-transformers' CrossEncoder takes:
/// `sentence_transformers.activation_fn` or the older `sbert_ce_default_activation_function`, of
/// which the last part of the dotted name counts; without either sigmoid for one class and none for
/// several.
/// **Errors**: a function other than Identity, Sigmoid and Softmax.
Scoring pair_scoring(const Json& config, index_t classes);

/// **Shapes**: logits (..., C) -> the same.
Tensor scored(Scoring scoring, const Tensor& logits);

}  // namespace tessera::models
