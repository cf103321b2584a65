// The calls of attention's kernels. Private to the ops.
#pragma once

#include "tessera/tensor/gradient.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/tensor.h"

namespace tessera::detail {

/// The op's name in its errors.
inline constexpr const char* kAttentionOp = "attention";

/// The inputs of forward and backward: four axes each, an additive mask in the inputs' dtype.
struct AttentionOperands {
  Tensor q, k, v;
  AttentionMask mask;
  double scale;
  kernels::Dropout dropout;
  UnpaddedRows unpadded;

  /// The number of heads that read one head of keys and values.
  index_t group() const { return k.size(1) == 0 ? 1 : q.size(1) / k.size(1); }
  /// (B, H, Tq, Tk).
  Shape scores() const {
    if (!unpadded) return {q.size(0), q.size(1), q.size(2), k.size(2)};
    return {unpadded.batch(), q.size(1), unpadded.padded_length(), unpadded.padded_length()};
  }
};

/// The outputs of the forward. `weights` and `statistics`, (2, B, H, Tq), are undefined unless
/// requested.
struct AttentionOutputs {
  Tensor out, weights, statistics;
};

/// A new tensor (B, H, T, width), in memory (B, T, H, width), so that merging the heads is a view.
Tensor empty_heads(const Tensor& x, index_t width);

/// Computes those members of `y` that are defined.
void run_attention(const AttentionOperands& x, const AttentionRequest& request,
                   AttentionOutputs& y);

/// The positions of the op's inputs among its gradients.
enum AttentionInput : std::size_t { kQ, kK, kV, kBias };

/// The backward pass of flash attention: weights are recomputed tile by tile. The last axis of
/// d_out must be contiguous.
void run_attention_backward(const AttentionOperands& x, const AttentionOutputs& y,
                            const Tensor& d_out, Gradients& dx);

}  // namespace tessera::detail
