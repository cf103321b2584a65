// Scaled dot-product attention.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ops/attention_mask.h"
#include "tensor/ops/dropout.h"
#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera {

/// Which attention weights are returned, by the op or by a whole encoder. Numbers come in any
/// order; an absent list means all. `AttentionRequest{}` asks for all, `{.averaged = true}` for
/// what torch.nn.MultiheadAttention returns.
struct AttentionRequest {
  std::optional<std::vector<index_t>> layers = {};  // read by stacks of layers, else ignored
  std::optional<std::vector<index_t>> heads = {};
  std::optional<std::vector<index_t>> queries = {};
  bool averaged = false;  // the mean over the chosen heads
};

/// The options of attention().
struct AttentionOptions {
  std::optional<double> scale = {};              // 1 / sqrt(d) if absent
  std::optional<AttentionRequest> weights = {};  // none are returned if absent
  DropoutMask dropout = {};                      // of the weights
  PackedRows packed = {};                        // q, k and v are (1, H, N, d)
};

/// The result of attention().
struct AttentionResult {
  Tensor output;   // (..., Tq, dv)
  Tensor weights;  // (..., Tq, Tk) if requested, else undefined
};

/// `dropout(softmax(Q K^T scale + mask)) V`, fused: the (Tq, Tk) matrix is never in memory as a whole
/// unless its weights are requested.
///
/// **Shapes**: q (..., Tq, d), k (..., Tk, d), v (..., Tk, dv) -> output (..., Tq, dv), where `...`
/// is (B, H), (B) or nothing. The mask is broadcast to (B, H, Tq, Tk). Leading axes and Tq, Tk are
/// read by their strides; the output's memory is ordered (B, Tq, H, dv), so that merging the heads
/// is a view. Masked keys get weight exactly 0 and their values are never used, NaN or not. A query
/// whose keys are all masked gets zeros. Keys masked at the end change no bit. A score of NaN or +inf
/// that is not masked makes the whole row NaN, output and weights, as in softmax.
/// The gradients of q, k, v and an additive mask need no (Tq, Tk) matrix either; where all keys of a
/// query, or a key for all queries, are masked they are 0. Requested weights have a gradient too.
/// Whether weight (b, h, i, j) is dropped depends only on these four numbers and the dropout's key:
/// lengths, masks and requests change no draw. The value of a dropped weight is not used,
/// NaN or not; in a row that is NaN a dropped weight is NaN too. Requested weights are those after
/// dropout. Weights of chosen heads and queries are (B, chosen heads, chosen queries, Tk), in the
/// order chosen; averaged over the heads (B, chosen queries, Tk). They are kept while they are
/// used, and are, bit for bit, the output for V = I.
/// With packed rows q, k and v hold B sequences one after the other, and a query sees only the keys
/// of its own sequence. Masks, requested weights and dropout are those of the padded batch: B
/// sequences of `packed.tokens()` queries and keys, whose positions are counted from each sequence's
/// first. Weights are zeros where there is no token.
/// **Errors**: ranks, sizes or dtypes that do not fit; a mask that does not broadcast; a length above
/// the number of keys; a scale that is not finite; a requested head or query out of range; a
/// request about heads if q has no axis of heads; a dropout probability outside [0, 1].
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1;
/// torch.nn.functional.scaled_dot_product_attention.
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask = {}, const AttentionOptions& options = {});

/// The part of one layer's weights that a request selects.
/// **Shapes**: (..., H, Tq, Tk) -> (..., chosen heads, chosen queries, Tk), averaged (..., chosen
/// queries, Tk). **Errors**: as attention().
Tensor requested_weights(const Tensor& weights, const AttentionRequest& request);

}  // namespace tessera
