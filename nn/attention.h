// Attention as modules.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "tessera/nn/disentangled.h"
#include "tessera/nn/dropout.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/rotary.h"
#include "tessera/tensor/ops/attention.h"

namespace tessera::nn {

/// `dropout(softmax(Q K^T / sqrt(d) + mask)) V` of inputs that are already split into heads, as one
/// fused op, also with dropout.
///
/// **Shapes**: q (..., Tq, d), k (..., Tk, d), v (..., Tk, dv) -> (..., Tq, dv); see attention().
/// **Requested weights** are those after dropout, as in PyTorch.
/// **Errors**: as attention(); a dropout outside [0, 1].
/// **Source**: Vaswani et al., 2017, section 3.2.1.
struct ScaledDotProductAttention {
  Dropout dropout{0.0};

  ScaledDotProductAttention() = default;
  explicit ScaledDotProductAttention(double dropout_probability) : dropout(dropout_probability) {}

  AttentionResult operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                             const AttentionMask& mask = {},
                             const AttentionOptions& options = {}) const;

  static void visit(auto& self, auto&& visitor) { visitor("dropout", self.dropout); }
};

/// The options of MultiHeadAttention.
struct MultiHeadAttentionOptions {
  index_t embed_dim;
  index_t num_heads;
  double dropout = 0;
  bool bias = true;
  std::optional<index_t> kdim = {};  // width of the keys' input, embed_dim if absent
  std::optional<index_t> vdim = {};  // width of the values' input, embed_dim if absent
  bool batch_first = true;           // (B, T, D) rather than (T, B, D)
  std::optional<double> scale = {};  // of the scores; absent: 1 / sqrt(head_dim), or, with
                                     // disentangled attention of n terms, 1 / sqrt(n head_dim)
  std::optional<RotaryOptions> rotary = {};         // rotates queries and keys by their positions
  std::optional<index_t> num_key_value_heads = {};  // must divide num_heads; absent: num_heads
  std::optional<index_t> head_dim = {};             // absent: embed_dim / num_heads
  std::optional<double> head_norm_eps =
      {};  // of RMS norms of each head's queries and keys; absent: no norms
  std::optional<DisentangledOptions> disentangled = {};  // adds position terms to the scores
};

/// The inputs of MultiHeadAttention: `{.query = x}` is self-attention.
struct AttentionInputs {
  Tensor query;       // (B, Tq, D)
  Tensor key = {};    // (B, Tk, kdim), the query if absent
  Tensor value = {};  // (B, Tk, vdim), the key if absent
  AttentionMask mask = {};
  std::optional<AttentionRequest> need_weights = {};  // none are returned if absent
  Tensor residual = {};   // (B, Tq, D), added by the product that makes the output
  Tensor positions = {};  // of the queries, for rotary: (B, Tq) or (Tq) int64; 0, 1, ... if absent
  Tensor key_positions = {};   // if absent: `positions` in self-attention, otherwise 0, 1, ...
  UnpaddedRows unpadded = {};  // N tokens without padding: inputs are (1, N, D); only batch_first
  Tensor distance_table = {};  // for disentangled attention, (2 span, D)
};

/// Multi-head attention: `concat(head_1, ..., head_H) W_O`, where head_h attends with its d =
/// head_dim columns of the three projections.
///
/// **Grouped heads**: with G = num_key_value_heads, keys and values have G heads, and each of them
/// is read by H / G heads of queries. With `head_norm_eps`, each head of a query and of a key
/// passes an RMS norm, whose weight (d) all heads share, before it is rotated.
///
/// **Disentangled attention**: its position terms are added to the scores as a bias, which takes
/// memory for B H Tq Tk elements.
///
/// **Shapes**: query (B, Tq, D), key (B, Tk, kdim), value (B, Tk, vdim) -> output (B, Tq, D). The
/// batch axis is optional. With batch_first = false the first two axes are exchanged.
/// **Requested weights** are (B, H, Tq, Tk), or the requested selection; a call without a request
/// is faster.
/// **Parameters** are torch.nn.MultiheadAttention's: in_proj_weight (3D, D), whose rows are those
/// of q, then of k, then of v; or q_proj_weight (D, D), k_proj_weight (D, kdim) and v_proj_weight
/// (D, vdim), if kdim or vdim is not D; in_proj_bias (3D); out_proj.weight (D, D), out_proj.bias
/// (D). With grouped heads or a head_dim, the rows of q are H d, those of k and of v G d, and
/// out_proj.weight is (D, H d). The norms are q_norm.weight and k_norm.weight; disentangled
/// attention adds the parameters of Disentangled. Initial values are PyTorch's: Xavier uniform for
/// the projections of q, k and v (in_proj_weight as one matrix), those of Linear for
/// out_proj.weight, and zeros for biases. If the inputs have no key, value or key_positions, one
/// product computes all three projections.
/// **Errors**: sizes below 1; a number of heads that does not divide embed_dim, if there is no
/// head_dim; a num_key_value_heads that does not divide num_heads; a dropout outside [0, 1]; a
/// head_norm_eps that is negative or not finite; a scale that is not finite; disentangled attention
/// with num_key_value_heads, head_norm_eps, rotary, kdim or vdim, or without its table of
/// distances; inputs or masks that do not match; a requested head or query out of range; unpadded
/// rows without positions if the module has a rotary. The options and the positions of a rotary: as
/// Rotary.
/// **Source**: Vaswani et al., 2017, section 3.2.2; Ainslie et al., "GQA: Training Generalized
/// Multi-Query Transformer Models", 2023; Henry et al., "Query-Key Normalization", 2020;
/// He et al., "DeBERTa", 2021.
struct MultiHeadAttention {
  Weight in_proj_weight;
  Weight q_proj_weight, k_proj_weight, v_proj_weight;
  Tensor in_proj_bias;
  Linear out_proj;
  ScaledDotProductAttention attend;
  index_t num_heads, num_key_value_heads, head_dim;
  bool batch_first;
  std::optional<double> scale;
  std::optional<Norm> q_norm, k_norm;
  std::optional<Disentangled> disentangled;
  std::optional<Rotary> rotary;  // copies share its table, so several modules can use one table

  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options,
                              const ParameterSource& from = default_rng());

  AttentionResult operator()(const AttentionInputs& inputs) const;
  /// Self-attention without a mask.
  AttentionResult operator()(const Tensor& x) const { return (*this)({.query = x}); }

  static void visit(auto& self, auto&& visitor) {
    visitor("in_proj_weight", self.in_proj_weight);
    visitor("q_proj_weight", self.q_proj_weight);
    visitor("k_proj_weight", self.k_proj_weight);
    visitor("v_proj_weight", self.v_proj_weight);
    visitor("in_proj_bias", self.in_proj_bias);
    visitor("out_proj", self.out_proj);
    visitor("attend", self.attend);
    visitor("q_norm", self.q_norm);
    visitor("k_norm", self.k_norm);
    if (self.disentangled) Disentangled::visit(*self.disentangled, visitor);
    visitor("rotary", self.rotary);
  }

 private:
  enum class Part { kQuery, kKey, kValue };
  /// The rows of a projection in in_proj_weight, [begin, end).
  std::pair<index_t, index_t> rows_of(Part part) const;
  Tensor project_rows(const Tensor& x, const Weight& weight, const Tensor& bias, index_t rotated,
                      const Tensor& positions) const;
  Tensor norm_and_rotate(Part part, const Tensor& y, const Tensor& positions) const;
  Tensor project(Part part, const Tensor& x, const Tensor& positions) const;
  std::array<Tensor, 3> project_joined(const Tensor& x, const Tensor& positions) const;
  Tensor position_terms(const Tensor& q, const Tensor& k, const Tensor& table) const;
  AttentionResult attention_of(const std::array<Tensor, 3>& projected,
                               const AttentionInputs& x) const;
};

/// The columns of `x` divided into heads. **Shapes**: (B, T, H d) -> (B, H, T, d), a view.
/// **Errors**: a number of heads that is below 1 or does not divide the last axis; not three axes.
/// **Source**: Vaswani et al., 2017, section 3.2.2.
Tensor split_heads(const Tensor& x, index_t num_heads);
/// The inverse of split_heads. **Shapes**: (B, H, T, d) -> (B, T, H d).
/// **Errors**: not four axes.
/// **Source**: as split_heads.
Tensor merge_heads(const Tensor& x);

}  // namespace tessera::nn
