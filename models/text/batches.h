// Examples, and batches of them as tensors.
//
//   nn::BatchSampler sampler(text::lengths_of(examples), {.batch_size = 32, .seed = 1});
//   while (sampler.epoch() < 10) {
//     text::Batch batch = text::make_batch(examples, sampler.next());
//     Tensor scores = model(batch.tokens, batch.lengths);
//   }
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::text {

/// A sequence of token numbers, and its class where there is one.
struct Example {
  std::vector<index_t> tokens;
  index_t label = -1;
};

std::vector<index_t> lengths_of(std::span<const Example> examples);

struct Batch {
  Tensor tokens;   // (B, T) int64; behind a sequence's end stands Vocabulary::kPad
  Tensor lengths;  // (B) int64
  Tensor labels;   // (B) int64
};

/// The chosen examples, padded to the longest of them. Errors: none chosen, no such example.
Batch make_batch(std::span<const Example> examples, std::span<const index_t> chosen);

}  // namespace tessera::text
