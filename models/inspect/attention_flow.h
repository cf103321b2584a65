// Attention weights combined with values, and across layers.
#pragma once

#include <vector>

#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

namespace tessera::inspect {

/// `|W_O v_j|`: the length of the vector that token j offers to the other tokens, in each head.
///
/// `out_proj` may be frozen. **Shapes**: values (B, T, H d) as the step `self_attn.v`, out_proj
/// (D, H d) -> (B, H, T). **Errors**: shapes that do not match; a number of heads that does not
/// divide the width.
/// **Source**: as norm_weighted_attention.
Tensor value_norms(const Tensor& values, const Weight& out_proj, index_t heads);

/// `|weights[i, j] W_O v_j|`: the length of the vector that token j sends to token i, in each head.
///
/// A large weight on a short vector, as heads put on [CLS], moves nothing.
/// **Shapes**: weights (B, H, T, T) as the step `self_attn.weights`, others as value_norms ->
/// (B, H, T, T). **Errors**: shapes that do not match.
/// **Source**: Kobayashi et al., "Attention is Not Only a Weight", 2020.
Tensor norm_weighted_attention(const Tensor& weights, const Tensor& values, const Weight& out_proj);

/// The share of each input token in each output token, if residual connections pass half:
/// the product of (mean of the heads + I) / 2 over the layers, from the first.
///
/// **Shapes**: one (B, H, T, T) per layer -> (B, T, T); rows sum to 1 if the rows of the weights
/// do.
/// **Errors**: no layer; shapes that differ.
/// **Source**: Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020.
Tensor attention_rollout(const std::vector<Tensor>& weights);

}  // namespace tessera::inspect
