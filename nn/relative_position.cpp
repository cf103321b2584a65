#include "nn/relative_position.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "nn/check.h"
#include "nn/init.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/indexing.h"

namespace tessera::nn {

namespace {

/// f(key - query) from the last query and the first key to the first query and the last key: the
/// diagonals of a matrix, in toeplitz's order.
template <class F>
Tensor of_each_distance(const char* op, index_t queries, index_t keys, const F& f) {
  require(queries >= 0 && keys >= 0, op, "a bias for ", queries, " queries and ", keys, " keys");
  std::vector<index_t> line;
  for (index_t distance = 1 - queries; distance < keys; ++distance) line.push_back(f(distance));
  return from_vector(line);
}

void check(const DistanceBuckets& distances) {
  constexpr const char* kOp = "RelativePositionBias";
  const index_t directions = distances.bidirectional ? 2 : 1;
  const index_t buckets = distances.buckets;
  require(buckets >= 2 * directions && buckets % directions == 0, kOp, "buckets must be ",
          distances.bidirectional ? "an even number of 4" : "2", " or more, not ", buckets);
  const index_t exact = buckets / directions / 2;
  require(distances.max_distance > exact, kOp, "max_distance ", distances.max_distance,
          " must be above ", exact, ", the distances with a bucket of their own");
}

}  // namespace

index_t DistanceBuckets::of(index_t distance) const {
  const index_t count = bidirectional ? buckets / 2 : buckets;
  const index_t first = bidirectional && distance > 0 ? count : 0;
  const index_t away = bidirectional ? std::abs(distance) : std::max<index_t>(-distance, 0);
  const index_t exact = count / 2;
  if (away < exact) return first + away;
  const float ratio = static_cast<float>(away) / static_cast<float>(exact);
  const double range = static_cast<double>(max_distance) / static_cast<double>(exact);
  const float share = std::log(ratio) / static_cast<float>(std::log(range));
  const auto beyond = static_cast<index_t>(share * static_cast<float>(count - exact));
  return first + std::min(exact + beyond, count - 1);
}

RelativePositionBias::RelativePositionBias(const RelativePositionOptions& options, Rng& rng)
    : distances(options.distances) {
  detail::require_size("RelativePositionBias", "num_heads", options.num_heads);
  check(distances);
  weight = normal({distances.buckets, options.num_heads}, 0.02, rng);
}

Tensor RelativePositionBias::operator()(index_t queries, index_t keys) const {
  const Tensor buckets = of_each_distance("RelativePositionBias", queries, keys,
                                          [&](index_t d) { return distances.of(d); });
  return embedding(weight, buckets).t().contiguous().toeplitz(queries, keys);
}

Tensor alibi_slopes(index_t heads, DType dtype) {
  detail::require_size("alibi_slopes", "heads", heads);
  const auto power = static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const auto slope = [](index_t h, index_t of) {
    return std::exp2(-8 * static_cast<double>(h) / static_cast<double>(of));
  };
  std::vector<double> slopes;
  for (index_t h = 1; h <= power; ++h) slopes.push_back(slope(h, power));
  for (index_t h = 1; h <= heads - power; ++h) slopes.push_back(slope(2 * h - 1, 2 * power));
  return from_vector(slopes).to(dtype);
}

Tensor Alibi::operator()(index_t queries, index_t keys) const {
  const Tensor nearness =
      of_each_distance("Alibi", queries, keys, [](index_t d) { return -std::abs(d); });
  const Tensor& per_head = slopes.value();
  return (per_head.unsqueeze(1) * nearness.to(per_head.dtype())).toeplitz(queries, keys);
}

}  // namespace tessera::nn
