// The naive definition of masked attention's gradients, one element at a time, in double.
#pragma once

#include <vector>

#include "tests/support/attention_oracle.h"

namespace tessera::test {

struct NaiveAttentionGradients {
  Array q, k, v;
  Array scores;  // (B, H, Tq, Tk): the gradient of the terms added to the scaled scores
};

/// The gradients of the inputs for d_out, the gradient of the output. Masked keys are not read.
inline NaiveAttentionGradients naive_attention_backward(const Tensor& query, const Tensor& key,
                                                        const Tensor& value, const Tensor& d_out,
                                                        const MaskParts& parts, double scale,
                                                        const DropoutOptions& dropout = {}) {
  const NaiveRows q(query);
  const NaiveRows k(key);
  const NaiveRows v(value);
  const NaiveRows g(d_out);
  const Array weights = naive_attention(query, key, value, parts, scale).weights;  // undropped
  const NaiveDropout drops(dropout);
  const auto zeros_like = [](const Tensor& x) {
    return build(x.shape(), [](const Dims&) { return 0.0; });
  };
  NaiveAttentionGradients result{zeros_like(query),
                                 zeros_like(key),
                                 zeros_like(value),
                                 {weights.shape, std::vector<double>(weights.values.size(), 0)}};
  const NaiveMask mask(parts);
  for_each_index({q.size(0), q.size(1), q.size(2)}, [&](const Dims& at) {
    const index_t b = at[0];
    const index_t h = at[1];
    const index_t i = at[2];
    const auto used = [&](index_t j) {
      return mask.at(b, h, i, j) != -std::numeric_limits<double>::infinity();
    };
    // The softmax's own formula, dS = P (dP - sum of P dP), not through the output.
    std::vector<double> d_weights(static_cast<std::size_t>(k.size(2)), 0);
    double mean = 0;
    for (index_t j = 0; j < k.size(2); ++j) {
      if (!used(j)) continue;
      double& d_weight = d_weights[static_cast<std::size_t>(j)];
      const double factor = drops.of_weight(b, h, i, j);
      for (index_t c = 0; c < v.size(3) && factor != 0; ++c) {
        d_weight += factor * g.row(b, h, i)[c] * v.row(b, h, j)[c];
      }
      mean += weights.at({b, h, i, j}) * d_weight;
    }
    for (index_t j = 0; j < k.size(2); ++j) {
      if (!used(j)) continue;
      const double weight = weights.at({b, h, i, j});
      const double d_score = weight * (d_weights[static_cast<std::size_t>(j)] - mean);
      result.scores.at({b, h, i, j}) = d_score;
      for (index_t c = 0; c < q.size(3); ++c) {
        result.q.at({b, h, i, c}) += scale * d_score * k.row(b, h, j)[c];
        result.k.at({b, h, j, c}) += scale * d_score * q.row(b, h, i)[c];
      }
      for (index_t c = 0; c < v.size(3); ++c) {
        result.v.at({b, h, j, c}) += drops.of_weight(b, h, i, j) * weight * g.row(b, h, i)[c];
      }
    }
  });
  return result;
}

}  // namespace tessera::test
