// The weights of attention, as a matrix that gradients pass through.
#pragma once

#include "tensor/ops/attention_mask.h"
#include "tensor/tensor.h"

namespace tessera {

/// `softmax(Q K^T / sqrt(d) + mask)`, made of ops: for dropout on the weights, which `attention`,
/// being fused, never has as a whole. Its bits are not those of `attention`.
///
/// **Shapes**: q (B, H, Tq, d), k (B, H, Tk, d) -> (B, H, Tq, Tk). Masked keys have weight exactly
/// 0, and so has every key where all are masked; what masked keys hold shows neither in the weights
/// nor in a gradient.
/// **Errors**: other ranks; sizes, dtypes or a mask that do not fit.
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionMask& mask = {});

}  // namespace tessera
