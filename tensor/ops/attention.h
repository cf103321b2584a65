// Scaled dot-product attention.
#pragma once

#include <optional>
#include <vector>

#include "tessera/tensor/ops/attention_mask.h"
#include "tessera/tensor/ops/dropout.h"
#include "tessera/tensor/ops/unpad_rows.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// The attention weights to return, from the op or from a whole encoder. The indices of layers,
/// heads and queries may be in any order; an absent list means all. `AttentionRequest{}` requests
/// all weights; `{.averaged = true}` requests what torch.nn.MultiheadAttention returns by default.
struct AttentionRequest {
  std::optional<std::vector<index_t>> layers = {};  // used by encoders; attention() ignores it
  std::optional<std::vector<index_t>> heads = {};
  std::optional<std::vector<index_t>> queries = {};
  bool averaged = false;  // the mean over the chosen heads
};

/// The options of attention().
struct AttentionOptions {
  std::optional<double> scale = {};                   // 1 / sqrt(d) if absent
  std::optional<AttentionRequest> need_weights = {};  // none are returned if absent
  DropoutOptions dropout = {};                        // of the weights
  UnpaddedRows unpadded = {};                         // if set, q, k and v are unpadded: see below
};

/// The result of attention().
struct AttentionResult {
  Tensor output;        // (..., Tq, dv)
  Tensor weights = {};  // the requested weights; undefined if none are requested
};

/// `dropout(softmax(Q K^T scale + mask)) V`, computed block by block: the complete (Tq, Tk) matrix
/// of weights is in memory only if it is requested.
///
/// **Shapes**: q (..., Tq, d), k (..., Tk, d), v (..., Tk, dv) -> output (..., Tq, dv), where `...`
/// is (B, H), (B) or nothing: B sequences, H heads, Tq queries, Tk keys, d and dv columns per head.
/// k and v may have fewer heads, G, which must divide H: head h of q then reads head h / (H / G) of
/// k and v, as with PyTorch's enable_gqa; keys and values are not copied.
/// If the last axis of q, k or v is contiguous, the tensor is read in place, with any strides of
/// the other axes. In memory, the output has the order (B, Tq, H, dv), so that merging the heads is
/// a view.
///
/// **Masks**: the mask is broadcast to (B, H, Tq, Tk). Masked keys get weight exactly 0, and their
/// values never change the output, even if the values are NaN. (Keys that causal, window and length
/// masks hide from all queries of a block are not read. The values of other masked keys are read
/// and multiplied by 0. If a result is then NaN or infinite, the op computes some neighbouring
/// queries again without the keys of weight 0, which is slow.) A query whose keys are all masked
/// gets zeros. Adding masked keys after the last key does not change the bits of the output. If a
/// score that is not masked is NaN or +inf, the output and all weights of its query are NaN, as in
/// softmax, even the weights of masked keys.
///
/// **Gradients**: the gradients of q, k, v and an additive mask are computed without a (Tq, Tk)
/// matrix of weights, too. The gradient of a query is 0 if all its keys are masked; the gradients
/// of a key and of its value are 0 if the key is masked for all queries. A loss may also be
/// computed from the requested weights.
///
/// **Dropout**: for a given probability, whether weight (b, h, i, j) is dropped depends only on
/// these four indices and on `options.dropout.key`, a random number; it does not depend on lengths,
/// masks or requests. If weight (b, h, i, j) is dropped, row j of v does not change the output of
/// query i, even if the row contains NaN. If the weights of a query are NaN, its dropped weights
/// are NaN too.
///
/// **Requested weights** are the weights after dropout, exactly those that multiply V: if V is the
/// identity matrix, the output is bitwise equal. Their shape is (B, chosen heads, chosen queries,
/// Tk), or (B, chosen queries, Tk) if they are averaged; axes that q lacks are absent. Heads and
/// queries are in the order of the request.
///
/// **Unpadded rows**: q and k are (1, H, N, d) and v is (1, H, N, dv), where the N tokens of B
/// sequences follow one after the other. A query sees only the keys of its own sequence. Masks,
/// requested weights and dropout have the shapes of the padded batch, (B, H, T, T) with T =
/// `unpadded.padded_length()`, the length of a padded sequence. Position 0 is the first token of
/// each sequence. Weights of padding are zeros.
///
/// **Errors**: an undefined q, k or v; a dtype that is not floating; ranks, sizes or dtypes that do
/// not match; a mask that does not broadcast; a number of lengths that is not B; a length above the
/// number of keys; a scale that is not finite; a requested head or query out of range; an average
/// over no heads; a request that names heads, or averages over them, if q has no axis of heads; a
/// dropout probability outside [0, 1].
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1;
/// torch.nn.functional.scaled_dot_product_attention.
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask = {}, const AttentionOptions& options = {});

/// The part of one layer's weights that a request selects.
/// **Shapes**: (..., H, Tq, Tk) -> (..., chosen heads, chosen queries, Tk), averaged (..., chosen
/// queries, Tk). **Errors**: those of attention() for requests; weights with fewer than two axes.
Tensor requested_weights(const Tensor& weights, const AttentionRequest& request);

}  // namespace tessera
