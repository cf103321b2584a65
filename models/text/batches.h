// Examples, and batches of them as tensors.
//
//   nn::BatchSampler sampler(text::lengths_of(examples), {.batch_size = 32, .seed = 1});
//   while (sampler.epoch() < 10) {
//     text::Batch batch = text::make_batch(examples, sampler.next());
//     Tensor scores = model({batch.ids, batch.lengths});
//   }
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::text {

/// The label of positions that a loss ignores.
inline constexpr index_t kIgnoreIndex = -100;

/// The target of a model: nothing, a class of the text, a class of each token (or kIgnoreIndex), or
/// a value.
using Label = std::variant<std::monostate, index_t, std::vector<index_t>, double>;

/// A sequence of token ids, and its label.
struct Example {
  std::vector<index_t> ids;
  Label label = {};
  std::vector<index_t> type_ids = {};  // of each token, for pairs of texts; empty: all 0
};

/// The number of tokens of each example.
std::vector<index_t> lengths_of(std::span<const Example> examples);

/// The example's class. **Errors**: its label is not a class.
index_t class_of(const Example& example);

/// Examples of different lengths as tensors.
struct Batch {
  Tensor ids;       // (B, T) int64
  Tensor lengths;   // (B) int64
  Tensor type_ids;  // (B, T) int64; undefined if no example has types
  // (B) int64: classes. (B, T) int64: classes of tokens, kIgnoreIndex at padding. (B) float32:
  // values. Undefined if the examples have no labels.
  Tensor labels;
};

/// The chosen examples as tensors. Shorter examples are padded with the token `pad`: special().pad
/// of the vocabulary. **Errors**: no example chosen; an index without an example; labels of
/// different kinds; not as many types or labels as tokens.
Batch make_batch(std::span<const Example> examples, std::span<const index_t> chosen,
                 index_t pad = 0);

}  // namespace tessera::text
