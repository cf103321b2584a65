// The naive definition of masked attention: a softmax over the keys that a query may use, in
// double.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "tessera/tensor/ops/attention_mask.h"
#include "tests/support/dropout_oracle.h"
#include "tests/support/oracle.h"

namespace tessera::test {

/// The parts of a mask, for the oracle and, by library(), for the op.
struct MaskParts {
  bool causal = false;
  std::optional<index_t> window = {};
  std::vector<index_t> lengths = {};
  Tensor keep = {};
  Tensor bias = {};

  AttentionMask library() const {
    AttentionMask mask;
    if (causal) mask = mask & causal_mask();
    if (window) mask = mask & window_mask(*window);
    if (!lengths.empty()) mask = mask & length_mask(lengths);
    if (keep.defined()) mask = mask & keep_mask(keep);
    if (bias.defined()) mask = mask & additive_mask(bias);
    return mask;
  }
};

struct NaiveAttention {
  Array output;   // (B, H, Tq, dv)
  Array weights;  // (B, H, Tq, Tk)
};

/// Rows of (B, H, T, width) arrays.
class NaiveRows {
 public:
  explicit NaiveRows(const Tensor& x) : array_(array(x)) {}
  index_t size(index_t axis) const { return array_.shape[axis]; }
  const double* row(index_t b, index_t h, index_t t) const {
    return array_.values.data() + ((b * size(1) + h) * size(2) + t) * size(3);
  }

 private:
  Array array_;
};

/// The term added to score (b, h, i, j): -inf for a masked key.
class NaiveMask {
 public:
  explicit NaiveMask(const MaskParts& parts) : parts_(parts) {
    if (parts.keep.defined()) keep_ = array(parts.keep);
    if (parts.bias.defined()) bias_ = array(parts.bias);
  }

  double at(index_t b, index_t h, index_t i, index_t j) const {
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    if (parts_.causal && j > i) return kMasked;
    if (parts_.window && std::abs(i - j) > *parts_.window) return kMasked;
    if (!parts_.lengths.empty() && j >= parts_.lengths[static_cast<std::size_t>(b)]) return kMasked;
    if (keep_ && broadcast_at(*keep_, {b, h, i, j}) == 0) return kMasked;
    return bias_ ? broadcast_at(*bias_, {b, h, i, j}) : 0;
  }

 private:
  MaskParts parts_;
  std::optional<Array> keep_;
  std::optional<Array> bias_;
};

/// Softmax of the scores of the keys whose mask is not -inf; zeros if there is no such key.
inline std::vector<double> naive_weights(const std::vector<double>& scores,
                                         const std::vector<bool>& used) {
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (used[j] && !(scores[j] <= maximum)) maximum = scores[j];
  }
  std::vector<double> weights(scores.size(), 0);
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (used[j]) sum += weights[j] = std::exp(scores[j] - maximum);
  }
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (used[j]) weights[j] /= sum;
  }
  return weights;
}

/// Attention over tensors (B, H, T, width). Masked keys are not read; weights are those after
/// dropout.
inline NaiveAttention naive_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const MaskParts& parts, double scale,
                                      const DropoutOptions& dropout = {}) {
  const NaiveRows q(query);
  const NaiveRows k(key);
  const NaiveRows v(value);
  const NaiveMask mask(parts);
  const NaiveDropout drops(dropout);
  const index_t keys = k.size(2);
  NaiveAttention result{{{q.size(0), q.size(1), q.size(2), v.size(3)}, {}},
                        {{q.size(0), q.size(1), q.size(2), keys}, {}}};
  for_each_index({q.size(0), q.size(1), q.size(2)}, [&](const Dims& at) {
    const index_t b = at[0];
    const index_t h = at[1];
    std::vector<double> scores(static_cast<std::size_t>(keys), 0);
    std::vector<bool> used(static_cast<std::size_t>(keys), false);
    for (index_t j = 0; j < keys; ++j) {
      const auto n = static_cast<std::size_t>(j);
      const double added = mask.at(b, h, at[2], j);
      used[n] = added != -std::numeric_limits<double>::infinity();
      if (!used[n]) continue;
      double dot = 0;
      for (index_t c = 0; c < q.size(3); ++c) dot += q.row(b, h, at[2])[c] * k.row(b, h, j)[c];
      scores[n] = dot * scale + added;
    }
    std::vector<double> weights = naive_weights(scores, used);
    for (index_t j = 0; j < keys; ++j) {
      const double factor = drops.of_weight(b, h, at[2], j);
      const auto n = static_cast<std::size_t>(j);
      weights[n] *= factor;
      used[n] = used[n] && factor != 0;
    }
    for (index_t c = 0; c < v.size(3); ++c) {
      double sum = 0;
      for (index_t j = 0; j < keys; ++j) {
        const auto n = static_cast<std::size_t>(j);
        if (used[n]) sum += weights[n] * v.row(b, h, j)[c];
      }
      result.output.values.push_back(sum);
    }
    result.weights.values.insert(result.weights.values.end(), weights.begin(), weights.end());
  });
  return result;
}

}  // namespace tessera::test
