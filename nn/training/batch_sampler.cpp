#include "tessera/nn/training/batch_sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/create.h"

namespace tessera::nn {

BatchSampler::BatchSampler(std::vector<index_t> lengths, const BatchSamplerOptions& options)
    : lengths_(std::move(lengths)), options_(options), state_{.seed = options.seed} {
  constexpr const char* kOp = "BatchSampler";
  require(!lengths_.empty(), kOp, "there must be at least 1 example, got no examples");
  for (const index_t length : lengths_) detail::require_count(kOp, "each length", length);
  detail::require_size(kOp, "batch_size", options.batch_size);
  detail::require_size(kOp, "batches_per_chunk", options.batches_per_chunk);
  // Chunks are whole batches, so only the last batch can be smaller.
  batches_ = (std::ssize(lengths_) - 1) / options.batch_size + 1;
}

void BatchSampler::arrange() {
  const Rng::State epoch{state_.seed, state_.stream, 0};
  if (arranged_ == epoch) return;
  const index_t count = std::ssize(lengths_);
  order_.resize(lengths_.size());
  Rng rng(epoch.seed, epoch.stream);
  index_t chunk = count;
  if (options_.shuffle) {
    const Tensor shuffled = permutation(count, rng);
    std::copy_n(shuffled.data<index_t>(), count, order_.begin());
    if (options_.batches_per_chunk < batches_) {
      chunk = options_.batches_per_chunk * options_.batch_size;
    }
  } else {
    std::iota(order_.begin(), order_.end(), index_t{0});
  }
  const auto length_of = [&](index_t i) { return lengths_[static_cast<std::size_t>(i)]; };
  for (index_t begin = 0; begin < count; begin += chunk) {
    std::stable_sort(order_.begin() + begin, order_.begin() + std::min(begin + chunk, count),
                     [&](index_t a, index_t b) { return length_of(a) < length_of(b); });
  }
  const Tensor places = options_.shuffle ? permutation(batches_, rng) : tessera::arange(batches_);
  starts_ = places.to_vector<index_t>();
  for (index_t& start : starts_) start *= options_.batch_size;
  arranged_ = epoch;
}

std::span<const index_t> BatchSampler::next() {
  arrange();
  const index_t start = starts_[static_cast<std::size_t>(state_.position)];
  const index_t size = std::min(options_.batch_size, std::ssize(order_) - start);
  if (++state_.position == static_cast<std::uint64_t>(batches_)) {
    ++state_.stream;
    state_.position = 0;
  }
  return std::span(order_).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(size));
}

void BatchSampler::set_state(const Rng::State& state) {
  require(state.position < static_cast<std::uint64_t>(batches_), "BatchSampler",
          "position must be below ", batches_, ", the batches of an epoch, got ", state.position);
  constexpr auto kMostEpochs = static_cast<std::uint64_t>(std::numeric_limits<index_t>::max());
  require(state.stream <= kMostEpochs, "BatchSampler",
          "stream must be the number of an epoch, at most ", kMostEpochs, ", got ", state.stream);
  state_ = state;
}

}  // namespace tessera::nn
