// Which examples come together, and in which order.
//
//   BatchSampler sampler(lengths, {.batch_size = 32, .seed = 1});
//   while (sampler.epoch() < 10) {
//     for (index_t i : sampler.next()) ...   // the numbers of a batch's examples
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// The options of BatchSampler.
struct BatchSamplerOptions {
  index_t batch_size = 32;
  std::uint64_t seed = 0;
  bool shuffle = true;
  index_t batches_per_chunk = 50;  // how far sequences may move to meet others of their length
};

/// Says which examples come next: each example once an epoch.
///
/// With `shuffle` an epoch's examples are shuffled, cut into chunks of `batches_per_chunk` batches,
/// sorted by length within each chunk and cut into batches, which are shuffled again. So a batch's
/// sequences have similar lengths, and little is padding. Without `shuffle` all examples are sorted
/// by length, and those of one length stay in order. One batch of an epoch may be smaller.
///
/// The order depends on the options, the lengths and the epoch, and on nothing else.
/// **Errors**: no examples, a negative length, options below 1.
class BatchSampler {
 public:
  BatchSampler(std::vector<index_t> lengths, const BatchSamplerOptions& options = {});

  /// The number of batches in an epoch; the last may be smaller.
  index_t batches_per_epoch() const { return batches_; }
  /// The next batch: numbers of examples. They stay until the next call. After an epoch's last batch
  /// comes the next epoch's first.
  std::span<const index_t> next();

  /// The epoch to which the next batch belongs, from 0 on, and how many of it came before.
  index_t epoch() const { return static_cast<index_t>(state_.stream); }
  index_t position() const { return static_cast<index_t>(state_.position); }

  /// All there is to save in a checkpoint: the seed, the epoch as stream, and the position.
  const Rng::State& state() const { return state_; }
  /// Goes on from `state` as the sampler did whose state it was; the options' seed is forgotten.
  /// **Errors**: a position that cannot be.
  void set_state(const Rng::State& state);

 private:
  void arrange();

  std::vector<index_t> lengths_;
  BatchSamplerOptions options_;
  index_t batches_ = 0;
  Rng::State state_;
  std::vector<index_t> order_;          // the epoch's examples, batch by batch
  std::vector<index_t> starts_;         // where in it each of the epoch's batches begins
  std::optional<Rng::State> arranged_;  // the beginning of the epoch for which these are
};

}  // namespace tessera::nn
