// The choice of the examples of each batch, and their order.
//
//   BatchSampler sampler(lengths, {.batch_size = 32, .seed = 1});
//   while (sampler.epoch() < 10) {
//     for (index_t i : sampler.next()) ...   // the indices of a batch's examples
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/tensor/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The options of BatchSampler.
struct BatchSamplerOptions {
  index_t batch_size = 32;
  std::uint64_t seed = 0;
  bool shuffle = true;
  index_t batches_per_chunk = 50;  // size of the chunks that are sorted by length
};

/// Chooses the examples of each batch: each example once per epoch.
///
/// With `shuffle` an epoch's examples are shuffled and divided into chunks of `batches_per_chunk`
/// batches. Each chunk is sorted by length and divided into batches. Then the batches of the epoch
/// are shuffled. So the sequences of a batch have similar lengths, and there is little padding.
/// Without `shuffle` all examples are sorted by length, and those of equal length stay in order.
/// One batch of an epoch may be smaller.
///
/// The order depends only on the options, the lengths and the epoch.
/// **Errors**: no examples; a negative length; a batch_size or batches_per_chunk below 1.
/// **Source**: transformers.trainer_pt_utils.LengthGroupedSampler, for the chunks.
class BatchSampler {
 public:
  BatchSampler(std::vector<index_t> lengths, const BatchSamplerOptions& options = {});

  /// The number of batches in an epoch.
  index_t batches_per_epoch() const { return batches_; }
  /// The next batch: indices of examples, valid until the next call. The last batch of an epoch is
  /// followed by the first of the next epoch.
  std::span<const index_t> next();

  /// The epoch of the next batch, from 0 on.
  index_t epoch() const { return static_cast<index_t>(state_.stream); }
  /// The number of batches of this epoch so far.
  index_t position() const { return static_cast<index_t>(state_.position); }

  /// The complete state for checkpoints: the seed, the epoch as stream, and the position.
  const Rng::State& state() const { return state_; }
  /// Continues from the state of a sampler; the seed in the options is ignored.
  /// **Errors**: an invalid position.
  void set_state(const Rng::State& state);

 private:
  void arrange();

  std::vector<index_t> lengths_;
  BatchSamplerOptions options_;
  index_t batches_ = 0;
  Rng::State state_;
  std::vector<index_t> order_;          // the epoch's examples, batch by batch
  std::vector<index_t> starts_;         // the position in order_ of each of the epoch's batches
  std::optional<Rng::State> arranged_;  // the beginning of the epoch in order_ and starts_
};

}  // namespace tessera::nn
