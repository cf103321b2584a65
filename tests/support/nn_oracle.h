// The naive definitions of the modules, in double, directly from their formulas.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/nn/linear.h"
#include "tessera/nn/module.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/oracle_ops.h"

namespace tessera::test {

/// An oracle's result as a float64 tensor, for the next oracle.
inline Tensor wide(const Array& a) {
  return from_vector(a.values, a.shape);
}

/// x (B, T, ...) with zeros at padding, as in the output of models.
inline Tensor without_padding(const Tensor& x, const std::vector<index_t>& lengths) {
  const Tensor y = x.clone();
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    y.select(0, static_cast<index_t>(b)).slice(0, lengths[b]).fill(0);
  }
  return y;
}

inline Tensor naive_add(const Tensor& a, const Tensor& b) {
  return wide(map(array(a), array(b), [](double x, double y) { return x + y; }));
}

/// x W^T + b for x (..., in).
inline Tensor naive_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Array a = array(x);
  const Array w = array(weight);
  const Array b = bias.defined() ? array(bias) : Array{{}, {0}};
  Shape shape = x.shape();
  shape[shape.size() - 1] = w.shape[0];
  return wide(build(shape, [&](const Dims& at) {
    Dims from = at;
    const index_t out = at.back();
    double sum = bias.defined() ? b.at({out}) : 0;
    for (index_t k = 0; k < w.shape[1]; ++k) {
      from[from.size() - 1] = k;
      sum += a.at(from) * w.at({out, k});
    }
    return sum;
  }));
}

/// Over the last axis.
inline Tensor naive_layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               double eps) {
  const Array normal = naive_normalize(array(x), {x.rank() - 1}, eps);
  const Tensor y = wide(map(normal, array(weight), std::multiplies<>()));
  return bias.defined() ? naive_add(y, bias) : y;
}

inline double naive_activation(nn::Activation activation, double x) {
  switch (activation) {
    case nn::Activation::kNone:
      return x;
    case nn::Activation::kRelu:
      return x > 0 ? x : 0;
    case nn::Activation::kGelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case nn::Activation::kSilu:
      return x / (1 + std::exp(-x));
    case nn::Activation::kGeluTanh:
      break;
  }
  const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

/// activation(u) g with [u | g] = x W^T + b.
inline Tensor naive_gated_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                 nn::Activation activation) {
  const Array both = array(naive_linear(x, weight, bias));
  const index_t width = weight.size(0) / 2;
  Shape shape = x.shape();
  shape.back() = width;
  return wide(build(shape, [&](const Dims& at) {
    Dims gate = at;
    gate.back() += width;
    return naive_activation(activation, both.at(at)) * both.at(gate);
  }));
}

/// (B, T, H d) -> (B, H, T, d).
inline Tensor naive_split(const Tensor& x, index_t heads) {
  const Array a = array(x);
  const index_t width = x.size(2) / heads;
  return wide(build({x.size(0), heads, x.size(1), width}, [&](const Dims& at) {
    return a.at({at[0], at[2], at[1] * width + at[3]});
  }));
}

struct NaiveHeads {
  Tensor output;   // (B, Tq, E)
  Tensor weights;  // (B, H, Tq, Tk)
};

/// x (B, G, T, d) with each head repeated heads / G times.
inline Tensor naive_repeated(const Tensor& x, index_t heads) {
  const Array a = array(x);
  const index_t group = heads / x.size(1);
  return wide(build({x.size(0), heads, x.size(2), x.size(3)}, [&](const Dims& at) {
    return a.at({at[0], at[1] / group, at[2], at[3]});
  }));
}

/// Multi-head attention over (B, T, D) with the parameters of `state`, with PyTorch's names after
/// `prefix`; `rotated` is applied to the heads of queries and keys, after their norms, if there are
/// any.
inline NaiveHeads naive_multi_head(const nn::StateDict& state, const std::string& prefix,
                                   index_t heads, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const MaskParts& mask,
                                   std::optional<double> score_scale = {},
                                   const std::function<Tensor(const Tensor&)>& rotated = {},
                                   double head_norm_eps = 0) {
  const auto get = [&](const std::string& name) {
    const auto found = state.find(prefix + name);
    return found == state.end() ? Tensor() : found->second;
  };
  const index_t width = get("out_proj.weight").size(1) / heads;
  const Tensor packed = get("in_proj_weight");
  const index_t key_heads = packed.defined() ? (packed.size(0) / width - heads) / 2
                                             : get("k_proj_weight").size(0) / width;
  const auto rows = [&](const Tensor& all, index_t part) {
    const index_t begin = part == 0 ? 0 : heads + (part - 1) * key_heads;
    const index_t end = heads + part * key_heads;
    return all.defined() ? all.slice(0, begin * width, end * width) : all;
  };
  const std::vector<std::string> separate = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
  const auto project = [&](const Tensor& x, index_t part) {
    const Tensor weight =
        packed.defined() ? rows(packed, part) : get(separate[static_cast<std::size_t>(part)]);
    Tensor split = naive_split(naive_linear(x, weight, rows(get("in_proj_bias"), part)),
                               part == 0 ? heads : key_heads);
    const Tensor norm = part < 2 ? get(part == 0 ? "q_norm.weight" : "k_norm.weight") : Tensor();
    if (norm.defined()) {
      const Array normal = naive_rms_normalize(array(split), {3}, head_norm_eps);
      split = wide(map(normal, array(norm), std::multiplies<>()));
    }
    return naive_repeated(rotated && part < 2 ? rotated(split) : split, heads);
  };
  const double scale = score_scale.value_or(1 / std::sqrt(static_cast<double>(width)));
  const NaiveAttention attended =
      naive_attention(project(query, 0), project(key, 1), project(value, 2), mask, scale);
  const Array merged = build({query.size(0), query.size(1), heads * width}, [&](const Dims& at) {
    return attended.output.at({at[0], at[2] / width, at[1], at[2] % width});
  });
  return {naive_linear(wide(merged), get("out_proj.weight"), get("out_proj.bias")),
          wide(attended.weights)};
}

}  // namespace tessera::test
