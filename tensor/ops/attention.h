// Scaled dot-product attention.
#pragma once

#include <optional>
#include <vector>

#include "tensor/ops/attention_mask.h"
#include "tensor/tensor.h"

namespace tessera {

/// Whose weights are wanted, as numbers in any order; all where a list is absent.
struct AttentionSelection {
  std::optional<std::vector<index_t>> heads = {};
  std::optional<std::vector<index_t>> queries = {};
};

/// Throws what `attention` throws where q has no axis of heads, or not these heads or queries.
void check_selection(const AttentionSelection& weights_of, const Tensor& q);

struct AttentionOptions {
  std::optional<double> scale = {};  // 1 / sqrt(d) if absent
  bool need_weights = false;
  AttentionSelection weights_of = {};  // with need_weights
};

struct AttentionResult {
  Tensor output;   // (..., Tq, dv)
  Tensor weights;  // (..., Tq, Tk) if asked for, else undefined
};

/// `softmax(Q K^T scale + mask) V`, fused: the (Tq, Tk) matrix is never in memory as a whole unless
/// its weights are asked for.
///
/// **Shapes**: q (..., Tq, d), k (..., Tk, d), v (..., Tk, dv) -> output (..., Tq, dv), where `...`
/// is (B, H), (B) or nothing. The mask is broadcast to (B, H, Tq, Tk). Leading axes and Tq, Tk are
/// read by their strides; the output's memory is ordered (B, Tq, H, dv), so that merging the heads
/// is a view. Masked keys get weight exactly 0 and their values are never used, NaN or not. A query
/// whose keys are all masked gets zeros. Keys masked at the end change no bit. A score of NaN or +inf
/// that is not masked makes the whole row NaN, output and weights, as in softmax.
/// The gradients of q, k, v and an additive mask need no (Tq, Tk) matrix either; where all keys of a
/// query, or a key for all queries, are masked they are 0. Weights that were asked for have a
/// gradient too.
/// Weights of chosen heads and queries are (B, chosen heads, chosen queries, Tk), in the order
/// chosen. They are kept while they are used, and are, bit for bit, the output for V = I.
/// **Errors**: ranks, sizes or dtypes that do not fit; a mask that does not broadcast; a chosen
/// number that is not there.
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1;
/// torch.nn.functional.scaled_dot_product_attention.
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask = {}, const AttentionOptions& options = {});

}  // namespace tessera
