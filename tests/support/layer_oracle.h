// The naive definition of an encoder layer, one step after the other, in double.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tessera/models/encoder_layer.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/oracle_ops.h"

namespace tessera::test {

/// Heads (B, H, T, d) rotated by their positions, with float32 angles, as in trained models.
inline Tensor naive_rotation(const Tensor& heads, const nn::RotaryOptions& options,
                             const std::vector<index_t>& positions) {
  const Array x = array(heads);
  const index_t width = options.width == 0 ? heads.size(3) : options.width;
  return wide(build(heads.shape(), [&](const Dims& at) {
    const index_t c = at[3];
    if (c >= width) return x.at(at);
    const index_t pair = options.interleaved ? c / 2 : c % (width / 2);
    const bool second = options.interleaved ? c % 2 == 1 : c >= width / 2;
    Dims other = at;
    other[3] = options.interleaved ? c ^ 1 : (c + width / 2) % width;
    const auto power = static_cast<float>(2 * pair) / static_cast<float>(width);
    const float frequency =
        1 / static_cast<float>(std::pow(options.base, static_cast<double>(power)));
    const auto position = static_cast<float>(positions[static_cast<std::size_t>(at[2])]);
    const auto angle = static_cast<double>(position * frequency);
    return x.at(at) * std::cos(angle) + (second ? 1 : -1) * x.at(other) * std::sin(angle);
  }));
}

/// The sum of the learned bias and ALiBi's, (H, T, T).
inline Tensor naive_bias(const models::EncoderLayerOptions& options, const Tensor& table,
                         index_t tokens) {
  return wide(build({options.nhead, tokens, tokens}, [&](const Dims& at) {
    const index_t distance = at[2] - at[1];
    double sum = 0;
    if (options.relative_position) {
      const index_t bucket = options.relative_position->of(distance);
      sum += table.item_at<double>({bucket, at[0]});
    }
    if (options.alibi) {
      const auto step = static_cast<double>(at[0] + 1) / static_cast<double>(options.nhead);
      sum -= std::exp2(-8 * step) * std::abs(static_cast<double>(distance));
    }
    return sum;
  }));
}

/// The layer that `options` describe, with the parameters of `state` whose names begin with
/// `prefix`. A norm without a weight is omitted.
inline Tensor naive_layer(const models::EncoderLayerOptions& options, const nn::StateDict& state,
                          const std::string& prefix, const Tensor& x, MaskParts mask,
                          const std::vector<index_t>& positions = {}) {
  const auto get = [&](const std::string& name) {
    const auto found = state.find(prefix + name);
    return found == state.end() ? Tensor() : found->second;
  };
  const auto norm = [&](const std::string& name, const Tensor& y) {
    const Tensor weight = get(name + ".weight");
    const double eps = options.layer_norm_eps;
    if (!weight.defined()) return y;
    if (options.norm == nn::NormKind::kLayerNorm) {
      return naive_layer_norm(y, weight, get(name + ".bias"), eps);
    }
    return wide(map(naive_rms_normalize(array(y), {2}, eps), array(weight), std::multiplies<>()));
  };
  mask.window = options.window;
  mask.causal = mask.causal || options.causal;
  if (options.relative_position || options.alibi) {
    mask.bias = naive_bias(options, get("relative_attention_bias.weight"), x.size(1));
  }
  const auto rotated = [&](const Tensor& heads) {
    return options.rotary ? naive_rotation(heads, *options.rotary, positions) : heads;
  };
  const auto attend = [&](const Tensor& y) {
    return naive_multi_head(state, prefix + "self_attn.", options.nhead, y, y, y, mask,
                            options.scale, rotated, options.head_norm_eps.value_or(0))
        .output;
  };
  const auto feed_forward = [&](const Tensor& y) {
    const Tensor weight = get("linear1.weight"), bias = get("linear1.bias");
    const auto activate = [&](double value) { return naive_activation(options.activation, value); };
    const Tensor hidden = options.gated ? naive_gated_linear(y, weight, bias, options.activation)
                                        : wide(map(array(naive_linear(y, weight, bias)), activate));
    return naive_linear(hidden, get("linear2.weight"), get("linear2.bias"));
  };
  if (!options.norm_first) {
    const Tensor y = norm("norm1", naive_add(x, attend(x)));
    return norm("norm2", naive_add(y, feed_forward(y)));
  }
  const Tensor y = naive_add(x, attend(norm("norm1", x)));
  return naive_add(y, feed_forward(norm("norm2", y)));
}

}  // namespace tessera::test
