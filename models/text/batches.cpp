#include "models/text/batches.h"

#include <algorithm>

#include "models/text/vocabulary.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace tessera::text {

std::vector<index_t> lengths_of(std::span<const Example> examples) {
  std::vector<index_t> lengths;
  lengths.reserve(examples.size());
  for (const Example& example : examples) lengths.push_back(std::ssize(example.tokens));
  return lengths;
}

Batch make_batch(std::span<const Example> examples, std::span<const index_t> chosen) {
  require(!chosen.empty(), "make_batch", "no examples are chosen");
  index_t longest = 0;
  for (const index_t i : chosen) {
    require(i >= 0 && i < std::ssize(examples), "make_batch", "no example has the number ", i,
            "; there are ", examples.size());
    longest = std::max(longest, std::ssize(examples[static_cast<std::size_t>(i)].tokens));
  }
  const index_t count = std::ssize(chosen);
  Batch batch{full({count, longest}, Vocabulary::kPad, kInt64), Tensor::empty({count}, kInt64),
              Tensor::empty({count}, kInt64)};
  auto* tokens = batch.tokens.mutable_data<index_t>();
  auto* lengths = batch.lengths.mutable_data<index_t>();
  auto* labels = batch.labels.mutable_data<index_t>();
  for (const index_t i : chosen) {
    const Example& example = examples[static_cast<std::size_t>(i)];
    std::copy(example.tokens.begin(), example.tokens.end(), tokens);
    tokens += longest;
    *lengths++ = std::ssize(example.tokens);
    *labels++ = example.label;
  }
  return batch;
}

}  // namespace tessera::text
