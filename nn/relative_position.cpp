#include "tessera/nn/relative_position.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera::nn {

namespace {

/// Throws if a number for each head and distance, or the distances, do not fit into memory.
void check_sizes(const char* op, index_t heads, index_t queries, index_t keys, DType dtype) {
  detail::require_count(op, "queries", queries);
  detail::require_count(op, "keys", keys);
  const double distances = static_cast<double>(queries) + static_cast<double>(keys);
  const auto of_each = static_cast<double>(heads * item_size(dtype) + item_size(kInt64));
  detail::require_memory(op, distances * of_each, queries, " queries and ", keys, " keys for ",
                         heads, " heads");
}

/// f(key - query) from the last query and the first key to the first query and the last key: the
/// diagonals of a matrix, in toeplitz's order.
template <class F>
Tensor of_each_distance(index_t queries, index_t keys, const F& f) {
  std::vector<index_t> line;
  for (index_t distance = 1 - queries; distance < keys; ++distance) line.push_back(f(distance));
  return from_vector(line);
}

void check(const char* op, const DistanceBuckets& distances) {
  const index_t directions = distances.bidirectional ? 2 : 1;
  const index_t buckets = distances.buckets;
  require(buckets >= 2 * directions && buckets % directions == 0, op, "buckets must be ",
          distances.bidirectional ? "even and at least 4" : "at least 2", ", got ", buckets);
  const index_t exact = buckets / directions / 2;
  require(distances.max_distance > exact, op, "max_distance must be above ", exact,
          ", the number of distances with one bucket each, got ", distances.max_distance);
}

}  // namespace

index_t DistanceBuckets::of(index_t distance) const {
  check("DistanceBuckets", *this);
  const index_t count = bidirectional ? buckets / 2 : buckets;
  const index_t first = bidirectional && distance > 0 ? count : 0;
  // The least index_t has no opposite.
  const index_t back = distance > 0 ? 0 : -std::max(distance, -std::numeric_limits<index_t>::max());
  const index_t away = bidirectional ? std::max(distance, back) : back;
  const index_t exact = count / 2;
  if (away < exact) return first + away;
  const float ratio = static_cast<float>(away) / static_cast<float>(exact);
  const double range = static_cast<double>(max_distance) / static_cast<double>(exact);
  const float share = std::log(ratio) / static_cast<float>(std::log(range));
  const auto beyond = static_cast<index_t>(share * static_cast<float>(count - exact));
  return first + std::min(exact + beyond, count - 1);
}

RelativePositionBias::RelativePositionBias(const RelativePositionOptions& options,
                                           const ParameterSource& from)
    : distances(options.distances) {
  detail::require_size("RelativePositionBias", "num_heads", options.num_heads);
  check("RelativePositionBias", distances);
  weight = from("weight", {distances.buckets, options.num_heads}, init::normal(0.02));
}

Tensor RelativePositionBias::operator()(index_t queries, index_t keys) const {
  check_sizes("RelativePositionBias", weight.size(1), queries, keys, weight.dtype());
  const Tensor buckets =
      of_each_distance(queries, keys, [&](index_t d) { return distances.of(d); });
  return embedding(buckets, weight).t().contiguous().toeplitz(queries, keys);
}

Tensor alibi_slopes(index_t heads, DType dtype) {
  detail::require_size("alibi_slopes", "heads", heads);
  require(is_floating(dtype), "alibi_slopes", "dtype must be floating, got ", dtype);
  detail::require_memory("alibi_slopes", 8 * static_cast<double>(heads), heads, " heads");
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
  const Tensor& per_head = slopes.value();
  check_sizes("Alibi", per_head.size(0), queries, keys, per_head.dtype());
  const Tensor nearness = of_each_distance(queries, keys, [](index_t d) { return -std::abs(d); });
  return (per_head.unsqueeze(1) * nearness.to(per_head.dtype())).toeplitz(queries, keys);
}

}  // namespace tessera::nn
