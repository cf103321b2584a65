// Scaled dot-product attention.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ops/attention_mask.h"
#include "tensor/ops/dropout.h"
#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera {

/// The attention weights to return, from the op or from a whole encoder. The indices of layers,
/// heads and queries may be in any order; an absent list means all. `AttentionRequest{}` returns
/// all, `{.averaged = true}` the same as torch.nn.MultiheadAttention.
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

/// `dropout(softmax(Q K^T scale + mask)) V`, fused: the complete (Tq, Tk) matrix is in memory only
/// if its weights are requested.
///
/// **Shapes**: q (..., Tq, d), k (..., Tk, d), v (..., Tk, dv) -> output (..., Tq, dv), where `...`
/// is (B, H), (B) or nothing. Leading axes, Tq and Tk may have any strides; the output's memory is
/// ordered (B, Tq, H, dv), so that merging the heads is a view.
///
/// **Masks**: the mask is broadcast to (B, H, Tq, Tk). Masked keys get weight exactly 0, and their
/// values never change the output, even if the values are NaN. (Values outside a range of lengths
/// or windows are not read. Any other masked value that is NaN or infinite makes the op compute the
/// span of queries again without this value, which is slow.) A query whose keys are all masked gets
/// zeros. Masked keys at the end do not change the bits of the output. A score of NaN or +inf that
/// is not masked makes the whole row NaN, output and weights, as in softmax.
///
/// **Gradients**: those of q, k, v and an additive mask need no (Tq, Tk) matrix either. The
/// gradient of a query is 0 if all its keys are masked; the gradients of a key and of its value are
/// 0 if the key is masked for all queries. Requested weights have a gradient too.
///
/// **Dropout**: whether weight (b, h, i, j) is dropped depends only on these four indices and the
/// dropout's key, not on lengths, masks or requests. The value of a dropped weight does not change
/// the output, even if the value is NaN; in a row that is NaN a dropped weight is NaN too.
///
/// **Requested weights** are those after dropout, exactly those that multiply V: if V is the
/// identity matrix, the output has the same bits. Weights of chosen heads and queries have shape
/// (B, chosen heads, chosen queries, Tk), in the order chosen; averaged over the heads, (B, chosen
/// queries, Tk).
///
/// **Packed rows**: q, k and v hold B sequences one after the other, and a query sees only the keys
/// of its own sequence. Masks, requested weights and dropout refer to the padded batch: B sequences
/// of `packed.tokens()` queries and keys, whose positions are counted from the first of each
/// sequence. Weights of absent tokens are zeros.
///
/// **Errors**: ranks, sizes or dtypes that do not match; a mask that does not broadcast; a length
/// above the number of keys; a scale that is not finite; a requested head or query out of range; a
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
