#include "nn/attention.h"

#include "nn/check.h"
#include "nn/init.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"

namespace tessera::nn {

namespace {

Tensor chosen(const Tensor& weights, index_t axis,
              const std::optional<std::vector<index_t>>& numbers) {
  return numbers ? index_select(weights, axis, from_vector(*numbers)) : weights;
}

const MultiHeadAttentionOptions& checked(const MultiHeadAttentionOptions& options) {
  constexpr const char* kOp = "MultiHeadAttention";
  const index_t width = options.embed_dim;
  detail::require_heads(kOp, "num_heads", options.num_heads, "embed_dim", width);
  detail::require_size(kOp, "kdim", options.kdim.value_or(width));
  detail::require_size(kOp, "vdim", options.vdim.value_or(width));
  detail::require_probability(kOp, "dropout", options.dropout);
  return options;
}

}  // namespace

AttentionResult ScaledDotProductAttention::operator()(const Tensor& q, const Tensor& k,
                                                      const Tensor& v, const AttentionMask& mask,
                                                      bool need_weights,
                                                      const AttentionSelection& weights_of) const {
  if (!dropout.active()) {
    return attention(q, k, v, mask,
                     {.scale = {}, .need_weights = need_weights, .weights_of = weights_of});
  }
  const Tensor weights = attention(q, k, v, mask, {.scale = {}, .need_weights = true}).weights;
  check_selection(weights_of, q);
  // A key that no query uses may hold NaN; a weight of 0 does not make that 0.
  const Tensor used = any(ne(weights, 0), {-2}).unsqueeze(-1);
  const Tensor dropped = dropout(weights);
  const Tensor output = matmul(dropped, where(used, v, zeros({}, v.dtype())));
  if (!need_weights) return {output, Tensor()};
  return {output, chosen(chosen(dropped, -3, weights_of.heads), -2, weights_of.queries)};
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options, Rng& rng)
    : out_proj({.in_features = checked(options).embed_dim,
                .out_features = options.embed_dim,
                .bias = options.bias},
               rng),
      attend(options.dropout),
      num_heads(options.num_heads),
      batch_first(options.batch_first) {
  const index_t e = options.embed_dim;
  const index_t kdim = options.kdim.value_or(e);
  const index_t vdim = options.vdim.value_or(e);
  if (kdim == e && vdim == e) {
    in_proj_weight = xavier_uniform({3 * e, e}, rng);
  } else {
    q_proj_weight = xavier_uniform({e, e}, rng);
    k_proj_weight = xavier_uniform({e, kdim}, rng);
    v_proj_weight = xavier_uniform({e, vdim}, rng);
  }
  if (options.bias) {
    in_proj_bias = zeros({3 * e});
    out_proj.bias.fill(0);
  }
}

Tensor split_heads(const Tensor& x, index_t num_heads) {
  require(x.rank() == 3 && num_heads > 0 && x.size(2) % num_heads == 0, "split_heads",
          "cannot cut shape ", x.shape(), ", which should be (B, T, width), into ", num_heads,
          " heads");
  return x.unflatten(2, {num_heads, x.size(2) / num_heads}).transpose(1, 2);
}

Tensor merge_heads(const Tensor& x) {
  require(x.rank() == 4, "merge_heads", "expected (B, H, T, d), not ", x.shape());
  return x.transpose(1, 2).flatten(2, 3);
}

/// The projection number `part` of x: 0 queries, 1 keys, 2 values.
Tensor MultiHeadAttention::project(index_t part, const Tensor& x) const {
  const index_t e = embed_dim();
  const auto rows = [&](const Tensor& all) {
    return all.defined() ? all.slice(0, part * e, (part + 1) * e) : all;
  };
  const Tensor separate[] = {q_proj_weight, k_proj_weight, v_proj_weight};
  const Tensor weight = in_proj_weight.defined() ? rows(in_proj_weight) : separate[part];
  constexpr const char* kNames[] = {"query", "key", "value"};
  require(x.size(-1) == weight.size(1), "MultiHeadAttention", kNames[part], " of width ",
          x.size(-1), ", expected ", weight.size(1));
  const PackedWeight& packed = packed_parts[static_cast<std::size_t>(part)];
  return linear(x, weight, rows(in_proj_bias),
                {.activation = Activation::kNone, .residual = {}, .packed = &packed});
}

AttentionResult MultiHeadAttention::attend_heads(const Tensor& q, const Tensor& k, const Tensor& v,
                                                 const AttentionMask& mask, Weights weights,
                                                 const Tensor& residual,
                                                 const AttentionSelection& weights_of) const {
  AttentionResult heads =
      attend(split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads), mask,
             weights != Weights::kNone, weights_of);
  if (weights == Weights::kNone) heads.weights = Tensor();
  if (weights == Weights::kAveraged) heads.weights = mean(heads.weights, {1});
  return {out_proj(merge_heads(heads.output), Activation::kNone, residual), heads.weights};
}

namespace {

/// (B, T, D) of what a caller passes: unbatched, or with the tokens first.
Tensor batch_in_front(const Tensor& x, bool batch_first) {
  require(x.defined(), "MultiHeadAttention",
          "expected (B, T, D) or (T, D), got an undefined tensor");
  require(x.rank() == 2 || x.rank() == 3, "MultiHeadAttention",
          "expected (B, T, D) or (T, D), not ", x.shape());
  if (x.rank() == 2) return x.unsqueeze(0);
  return batch_first ? x : x.transpose(0, 1);
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

AttentionResult MultiHeadAttention::operator()(const Tensor& query, const Tensor& key,
                                               const Tensor& value, const AttentionMask& mask,
                                               Weights weights,
                                               const AttentionSelection& weights_of) const {
  require(query.rank() == key.rank() && query.rank() == value.rank(), "MultiHeadAttention",
          "query ", query.shape(), ", key ", key.shape(), " and value ", value.shape(),
          " differ in rank");
  const Tensor q = project(0, batch_in_front(query, batch_first));
  const Tensor k = project(1, batch_in_front(key, batch_first));
  const Tensor v = project(2, batch_in_front(value, batch_first));
  return as_passed(attend_heads(q, k, v, mask, weights, {}, weights_of), query, batch_first);
}

AttentionResult MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                               Weights weights, const Tensor& residual,
                                               const AttentionSelection& weights_of) const {
  const Tensor tokens = batch_in_front(x, batch_first);
  const Tensor addend = residual.defined() ? batch_in_front(residual, batch_first) : residual;
  const auto attended = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return as_passed(attend_heads(q, k, v, mask, weights, addend, weights_of), x, batch_first);
  };
  if (!in_proj_weight.defined()) {
    return attended(project(0, tokens), project(1, tokens), project(2, tokens));
  }
  require(x.size(-1) == embed_dim(), "MultiHeadAttention", "input ", x.shape(), " has width ",
          x.size(-1), ", expected ", embed_dim());
  const Tensor qkv =
      linear(tokens, in_proj_weight, in_proj_bias,
             {.activation = Activation::kNone, .residual = {}, .packed = &packed_in_proj});
  const index_t e = embed_dim();
  return attended(qkv.slice(2, 0, e), qkv.slice(2, e, 2 * e), qkv.slice(2, 2 * e, 3 * e));
}

}  // namespace tessera::nn
