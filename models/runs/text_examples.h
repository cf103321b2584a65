// Texts as examples for nn::Trainer.
//
//   const auto lines = text::read_labelled_lines("train.tsv");
//   nn::Examples train = runs::classifier_examples(model, lines, labels, {&words}, "train.tsv");
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/models/text/batches.h"
#include "tessera/models/text/labelled_text.h"
#include "tessera/nn/training/evaluate.h"
#include "tessera/nn/training/loss_sum.h"

namespace tessera::runs {

/// Examples whose loss is a function of their batch. Shorter examples of a batch are padded with
/// the token `pad`. **Errors**, when a batch is computed: as text::make_batch and `loss`.
nn::Examples batched(std::vector<text::Example> examples,
                     std::function<nn::LossSum(const text::Batch& batch)> loss, index_t pad = 0);

/// Labelled lines as examples for a classifier such as models::SequenceClassifier. `model` must
/// outlive the examples. The loss is the cross-entropy. **Errors**: as text::labelled_examples;
/// when a batch is computed: as `model` and nn::summed_cross_entropy.
template <class M>
nn::Examples classifier_examples(const M& model, const std::vector<text::LabelledText>& lines,
                                 const std::vector<std::string>& labels,
                                 const text::Tokenization& encode, const std::string& file) {
  const auto loss = [&model](const text::Batch& batch) {
    const auto scores =
        model({.ids = batch.ids, .lengths = batch.lengths, .type_ids = batch.type_ids});
    return nn::summed_cross_entropy(scores, batch.labels);
  };
  auto examples = text::labelled_examples(lines, labels, encode, file);
  return batched(std::move(examples), loss, encode.tokenizer->special().pad.value_or(0));
}

/// A number that depends on the ids and labels of all examples, for nn::Examples::digest.
std::uint64_t digest_of(std::span<const text::Example> examples);

}  // namespace tessera::runs
