// Relative position biases of attention: a bias depends only on the distance from query to key.
//
//   const Tensor bias = relative(queries, keys);                  // (H, Tq, Tk), a view
//   attend({.query = x, .mask = additive_mask(bias) & length_mask(lengths)})
//
// Only one line of Tq + Tk - 1 numbers per head is in memory. The bias is a view of this line
// (Tensor::toeplitz), which the attention kernel reads by its strides. In training the gradient of
// the bias has H Tq Tk elements, until sums along the diagonals give the gradient of the line.
#pragma once

#include "tessera/nn/parameter_source.h"
#include "tessera/nn/visit.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The assignment of distances to the entries of a table.
struct DistanceBuckets {
  index_t buckets = 32;
  index_t max_distance = 128;  // keys at this distance or farther are in the last bucket
  bool bidirectional = true;   // half of the buckets are for keys after the query; if false,
                               // these keys count as distance 0

  /// The bucket of a key at `distance` = key - query.
  ///
  /// If `bidirectional`, each direction has n = `buckets` / 2 buckets, and the second half of the
  /// table is for keys after the query; otherwise n = `buckets`. Let a = |distance|, or 0 for a key
  /// after the query if not `bidirectional`. Counted from the first bucket of the direction, the
  /// bucket is a if a < m = n / 2. The other buckets hold wider and wider ranges: in float32,
  ///
  ///     bucket = min(m + trunc(log(a / m) / log(max_distance / m) (n - m)), n - 1)
  ///
  /// **Errors**: members that RelativePositionBias rejects.
  /// **Source**: Raffel et al., "T5", 2020, section 2.1, and the code of T5; MPNet has the same
  /// buckets.
  index_t of(index_t distance) const;
};

/// The options of RelativePositionBias.
struct RelativePositionOptions {
  index_t num_heads;
  DistanceBuckets distances = {};
};

/// `bias[h, i, j] = weight[bucket(j - i), h]`, learned.
///
/// **Shapes**: (queries, keys) -> (H, queries, keys); weight (buckets, H), from N(0, 0.02^2).
/// Layers may share one module or each have their own.
/// **Errors**: sizes below 1; fewer than 2 buckets or, if bidirectional, fewer than 4 or an odd
/// number; a max_distance that is not above the m of DistanceBuckets::of; a negative number of
/// queries or keys; OutOfMemory, before anything is computed, if the line does not fit into memory.
/// **Source**: as DistanceBuckets.
struct RelativePositionBias {
  Tensor weight;
  DistanceBuckets distances;

  explicit RelativePositionBias(const RelativePositionOptions& options,
                                const ParameterSource& from = default_rng());

  Tensor operator()(index_t queries, index_t keys) const;

  static void visit(auto& self, auto&& visitor) { visitor("weight", self.weight); }
};

/// The slope of each of H = `heads` heads. If H is a power of two: 2^(-8 h / H) for h = 1 ... H.
/// Otherwise: all slopes for the next lower power of two, then the first, third, fifth, ... slope
/// for the next higher power of two.
///
/// **Shapes**: (heads). **Errors**: fewer than one head; a dtype that is not floating; OutOfMemory
/// if the slopes do not fit into memory.
/// **Source**: Press et al., "Train Short, Test Long" (ALiBi), 2022, section 3, and the code of
/// ALiBi.
Tensor alibi_slopes(index_t heads, DType dtype = kFloat32);

/// `bias[h, i, j] = -slope_h |j - i|`: attention falls with the distance. The module has no
/// parameters.
///
/// **Shapes**: (queries, keys) -> (H, queries, keys). With a causal mask the bias equals the
/// paper's.
/// **Errors**: as alibi_slopes; a negative number of queries or keys; OutOfMemory, before anything
/// is computed, if the line does not fit into memory.
/// **Source**: as alibi_slopes.
struct Alibi {
  Buffer slopes;  // (H)

  explicit Alibi(index_t num_heads) : slopes(alibi_slopes(num_heads, kFloat64)) {}

  Tensor operator()(index_t queries, index_t keys) const;

  static void visit(auto& self, auto&& visitor) { visitor("slopes", self.slopes); }
};

}  // namespace tessera::nn
