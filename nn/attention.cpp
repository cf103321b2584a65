#include "tessera/nn/attention.h"

#include <cmath>

#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::nn {

namespace {

index_t head_width(const MultiHeadAttentionOptions& options) {
  return options.head_dim.value_or(options.embed_dim / options.num_heads);
}

index_t width_of_heads(const MultiHeadAttentionOptions& options) {
  return options.num_heads * head_width(options);
}

const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& options) {
  constexpr const char* kOp = "MultiHeadAttention";
  const index_t width = options.embed_dim;
  if (options.head_dim) {
    detail::require_size(kOp, "embed_dim", width);
    detail::require_size(kOp, "num_heads", options.num_heads);
    detail::require_size(kOp, "head_dim", *options.head_dim);
  } else {
    detail::require_heads(kOp, "num_heads", options.num_heads, "embed_dim", width);
  }
  const index_t kv_heads = options.num_key_value_heads.value_or(options.num_heads);
  detail::require_heads(kOp, "num_key_value_heads", kv_heads, "num_heads", options.num_heads);
  detail::require_not_negative(kOp, "head_norm_eps", options.head_norm_eps.value_or(0));
  detail::require_size(kOp, "kdim", options.kdim.value_or(width));
  detail::require_size(kOp, "vdim", options.vdim.value_or(width));
  detail::require_probability(kOp, "dropout", options.dropout);
  detail::require_finite(kOp, "scale", options.scale.value_or(1));
  detail::require_memory(kOp,
                         4.0 * static_cast<double>(width) * static_cast<double>(options.num_heads) *
                             static_cast<double>(head_width(options)),
                         options.num_heads, " heads");
  require(!options.disentangled || (!options.num_key_value_heads && !options.head_norm_eps &&
                                    !options.rotary && !options.kdim && !options.vdim),
          kOp,
          "num_key_value_heads, head_norm_eps, rotary, kdim and vdim must be absent for "
          "disentangled attention, got one of them");
  return options;
}

/// A bias of zeros that draws as many random numbers as the bias of a Linear: PyTorch draws this
/// bias and then sets it to 0.
Tensor zeros_of_a_linear(const Shape& shape, Rng& rng) {
  rand(shape, kFloat32, rng);
  return zeros(shape);
}

}  // namespace

AttentionResult ScaledDotProductAttention::operator()(const Tensor& q, const Tensor& k,
                                                      const Tensor& v, const AttentionMask& mask,
                                                      const AttentionOptions& options) const {
  AttentionOptions dropped = options;
  dropped.dropout = dropout.draw();
  return attention(q, k, v, mask, dropped);
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options,
                                       const ParameterSource& from)
    : out_proj({.in_features = width_of_heads(checked(options)),
                .out_features = options.embed_dim,
                .bias = false},
               from["out_proj"]),
      attend(options.dropout),
      num_heads(options.num_heads),
      num_key_value_heads(options.num_key_value_heads.value_or(num_heads)),
      head_dim(head_width(options)),
      batch_first(options.batch_first),
      scale(options.scale) {
  const index_t e = options.embed_dim;
  if (options.bias) out_proj.bias = from("out_proj.bias", {e}, zeros_of_a_linear);
  const index_t kdim = options.kdim.value_or(e);
  const index_t vdim = options.vdim.value_or(e);
  const index_t of_q = num_heads * head_dim, of_k = num_key_value_heads * head_dim;
  const index_t rows = of_q + 2 * of_k;
  if (kdim == e && vdim == e) {
    in_proj_weight = from("in_proj_weight", {rows, e}, init::xavier_uniform);
  } else {
    q_proj_weight = from("q_proj_weight", {of_q, e}, init::xavier_uniform);
    k_proj_weight = from("k_proj_weight", {of_k, kdim}, init::xavier_uniform);
    v_proj_weight = from("v_proj_weight", {of_k, vdim}, init::xavier_uniform);
  }
  if (options.bias) in_proj_bias = from("in_proj_bias", {rows}, init::constant(0));
  if (options.head_norm_eps) {
    const NormOptions norm = {
        .width = head_dim, .kind = NormKind::kRMSNorm, .eps = *options.head_norm_eps};
    q_norm.emplace(norm, from["q_norm"]);
    k_norm.emplace(norm, from["k_norm"]);
  }
  if (options.rotary) rotary.emplace(*options.rotary, head_dim);
  if (!options.disentangled) return;
  disentangled.emplace(*options.disentangled, e, of_q, from);
  if (!scale) scale = 1 / std::sqrt(static_cast<double>(head_dim * options.disentangled->terms()));
}

Tensor split_heads(const Tensor& x, index_t num_heads) {
  require(x.rank() == 3 && num_heads > 0 && x.size(2) % num_heads == 0, "split_heads",
          "x must have shape (B, T, width), and num_heads must divide the width, got ", x.shape(),
          " and ", num_heads);
  return x.unflatten(2, {num_heads, x.size(2) / num_heads}).transpose(1, 2);
}

Tensor merge_heads(const Tensor& x) {
  require(x.rank() == 4, "merge_heads", "x must have shape (B, H, T, d), got ", x.shape());
  return x.transpose(1, 2).flatten(2, 3);
}

namespace {

/// (B, T, D) from the caller's layout: unbatched, or with the tokens first.
Tensor batch_in_front(const Tensor& x, bool batch_first) {
  constexpr const char* kRule = "inputs must have shape (B, T, D) or (T, D), got ";
  require(x.defined(), "MultiHeadAttention", kRule, "an undefined tensor");
  require(x.rank() == 2 || x.rank() == 3, "MultiHeadAttention", kRule, x.shape());
  if (x.rank() == 2) return x.unsqueeze(0);
  return batch_first ? x : x.transpose(0, 1);
}

/// The inputs with the batch as first axis; in self-attention, keys and values are set to the
/// query.
AttentionInputs completed(const AttentionInputs& inputs, bool batch_first) {
  AttentionInputs x = inputs;
  const auto batched = [&](const Tensor& passed, const Tensor& otherwise) {
    return passed.defined() ? batch_in_front(passed, batch_first) : otherwise;
  };
  x.query = batch_in_front(inputs.query, batch_first);
  x.key = batched(inputs.key, x.query);
  x.value = batched(inputs.value, x.key);
  x.residual = batched(inputs.residual, {});
  if (!inputs.key.defined() && !inputs.key_positions.defined()) x.key_positions = x.positions;
  const index_t rank = inputs.query.rank();
  for (const Tensor& other : {inputs.key, inputs.value, inputs.residual}) {
    require(!other.defined() || other.rank() == rank, "MultiHeadAttention",
            "all inputs must have as many axes as the query, ", inputs.query.shape(), ", got ",
            other.shape());
  }
  return x;
}

AttentionResult as_passed(AttentionResult result, const Tensor& query, bool batch_first) {
  if (query.rank() == 2) {
    result.output = result.output.squeeze(0);
    if (result.weights.defined()) result.weights = result.weights.squeeze(0);
  } else if (!batch_first) {
    result.output = result.output.transpose(0, 1);
  }
  return result;
}

}  // namespace

std::pair<index_t, index_t> MultiHeadAttention::rows_of(Part part) const {
  const index_t keys = num_heads * head_dim, width = num_key_value_heads * head_dim;
  if (part == Part::kQuery) return {0, keys};
  const index_t begin = part == Part::kKey ? keys : keys + width;
  return {begin, begin + width};
}

/// x W^T + b; a module with rotary positions and without norms of heads rotates the first `rotated`
/// heads of the result.
Tensor MultiHeadAttention::project_rows(const Tensor& x, const Weight& weight, const Tensor& bias,
                                        index_t rotated, const Tensor& positions) const {
  if (!rotary || q_norm || rotated == 0) return linear(x, weight, bias);
  return rotary_linear(x, weight, bias, rotary->columns(rotated, x.dtype(), positions));
}

/// If the module has norms of heads: y with each head normalised, then rotated; otherwise y, which
/// project_rows has rotated.
Tensor MultiHeadAttention::norm_and_rotate(Part part, const Tensor& y,
                                           const Tensor& positions) const {
  const std::optional<Norm>& norm = part == Part::kQuery ? q_norm : k_norm;
  if (!norm || part == Part::kValue) return y;
  const Tensor heads = (*norm)(y.unflatten(2, {y.size(2) / head_dim, head_dim}));
  return (rotary ? (*rotary)(heads, positions) : heads).flatten(2, 3);
}

/// One projection of x.
Tensor MultiHeadAttention::project(Part part, const Tensor& x, const Tensor& positions) const {
  const auto [begin, end] = rows_of(part);
  const auto i = static_cast<std::size_t>(part);
  const Weight* const separate[] = {&q_proj_weight, &k_proj_weight, &v_proj_weight};
  const Weight joined = in_proj_weight.defined() ? in_proj_weight.rows(begin, end) : Weight();
  const Weight& weight = in_proj_weight.defined() ? joined : *separate[i];
  const Tensor bias = in_proj_bias.defined() ? in_proj_bias.slice(0, begin, end) : Tensor();
  constexpr const char* kNames[] = {"query", "key", "value"};
  require(x.size(-1) == weight.size(1), "MultiHeadAttention", kNames[i], " must have width ",
          weight.size(1), ", got shape ", x.shape());
  const index_t rotated = part == Part::kValue ? 0 : (end - begin) / head_dim;
  return norm_and_rotate(part, project_rows(x, weight, bias, rotated, positions), positions);
}

/// Queries (B, T, H d), keys and values (B, T, G d) of self-attention, as views of one product.
std::array<Tensor, 3> MultiHeadAttention::project_joined(const Tensor& x,
                                                         const Tensor& positions) const {
  const index_t e = in_proj_weight.size(1);
  require(x.size(-1) == e, "MultiHeadAttention", "query must have width ", e, ", got shape ",
          x.shape());
  const Tensor qkv =
      project_rows(x, in_proj_weight, in_proj_bias, num_heads + num_key_value_heads, positions);
  const auto part = [&](Part which) {
    const auto [begin, end] = rows_of(which);
    return norm_and_rotate(which, qkv.slice(2, begin, end), positions);
  };
  return {part(Part::kQuery), part(Part::kKey), part(Part::kValue)};
}

/// The bias of disentangled attention, (B, H, Tq, Tk), of padded q and k, (B, T, H d).
Tensor MultiHeadAttention::position_terms(const Tensor& q, const Tensor& k,
                                          const Tensor& table) const {
  const Tensor rows = disentangled->rows(q.size(1), k.size(1), table);
  const auto projected = [&](const std::optional<Linear>& own, Part part) {
    const bool is_shared = disentangled->options.shared;
    if (!own && !is_shared) return Tensor();
    return split_heads(own ? (*own)(rows) : project(part, rows, {}), num_heads);
  };
  const Tensor sum = (*disentangled)(split_heads(q, num_heads), split_heads(k, num_heads),
                                     projected(disentangled->pos_key_proj, Part::kKey),
                                     projected(disentangled->pos_query_proj, Part::kQuery));
  return sum.defined() ? sum * scale.value() : sum;
}

namespace {

/// W V, where several heads of weights may read one head of values.
Tensor weighed(const Tensor& weights, const Tensor& values) {
  const index_t heads = values.size(1);
  const Tensor groups = weights.unflatten(1, {heads, weights.size(1) / heads});
  return matmul(groups, values.unsqueeze(2)).flatten(1, 2);
}

}  // namespace

/// Attention of projected inputs, (B, T, heads d) each, whose weights and scores hooks may change.
AttentionResult MultiHeadAttention::attention_of(const std::array<Tensor, 3>& projected,
                                                 const AttentionInputs& x) const {
  const Tensor q = hooked("q", projected[0]);
  const Tensor k = hooked("k", projected[1]);
  const Tensor v = hooked("v", projected[2]);
  const UnpaddedRows& unpadded = x.unpadded;
  AttentionMask mask = x.mask;
  AttentionOptions options = {.scale = scale, .need_weights = x.need_weights, .unpadded = unpadded};
  if (disentangled) {
    const Tensor terms = position_terms(unpadded.pad(q), unpadded.pad(k), x.distance_table);
    if (terms.defined()) mask = mask & additive_mask(terms);
  }
  if (is_hooked("score_bias")) {
    const index_t batch = unpadded ? unpadded.batch() : q.size(0);
    const index_t queries = unpadded ? unpadded.padded_length() : q.size(1);
    const index_t keys = unpadded ? unpadded.padded_length() : k.size(1);
    const Tensor bias =
        replacement("score_bias", zeros({batch, num_heads, queries, keys}, q.dtype()));
    if (bias.defined()) mask = mask & additive_mask(bias);
  }
  const std::optional<AttentionRequest> request = options.need_weights;
  const bool weights_hooked = is_hooked("weights");
  if (weights_hooked) options.need_weights = AttentionRequest{};
  AttentionResult result = attend(split_heads(q, num_heads), split_heads(k, num_key_value_heads),
                                  split_heads(v, num_key_value_heads), mask, options);
  if (weights_hooked) {
    const Tensor weights = replacement("weights", result.weights);
    if (weights.defined()) {
      const Tensor padded =
          merge_heads(weighed(weights, split_heads(unpadded.pad(v), num_key_value_heads)));
      result = {split_heads(unpadded.unpad(padded), num_heads), weights};
    }
    result.weights = request ? requested_weights(result.weights, *request) : Tensor();
  }
  return result;
}

AttentionResult MultiHeadAttention::operator()(const AttentionInputs& inputs) const {
  const bool one_product = in_proj_weight.defined() && !inputs.key.defined() &&
                           !inputs.value.defined() && !inputs.key_positions.defined();
  const AttentionInputs x = completed(inputs, batch_first);
  require(!x.unpadded || !rotary || x.positions.defined(), "MultiHeadAttention",
          "positions must be defined for unpadded rows and rotary, got undefined ones");
  const std::array<Tensor, 3> projected =
      one_product ? project_joined(x.query, x.positions)
                  : std::array{project(Part::kQuery, x.query, x.positions),
                               project(Part::kKey, x.key, x.key_positions),
                               project(Part::kValue, x.value, {})};
  AttentionResult result = attention_of(projected, x);
  const Tensor heads = hooked("heads", merge_heads(result.output));
  result.output = out_proj(heads, Activation::kNone, x.residual);
  return as_passed(result, inputs.query, batch_first);
}

}  // namespace tessera::nn
