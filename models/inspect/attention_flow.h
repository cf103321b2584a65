// What attention weights mean for the output: with the values they weigh, and through all layers.
#pragma once

#include <vector>

#include "models/inspect/record.h"

namespace tessera::inspect {

/// `|weights[i, j] W_O v_j|`: how long the vector is that token j sends to token i, in each head.
///
/// A large weight on a short vector, as heads put on [CLS], moves nothing.
/// **Shapes**: weights (B, H, T, T), values (B, T, H d) as the steps `self_attn.weights` and
/// `self_attn.v`, out_proj (D, H d) -> (B, H, T, T). **Errors**: shapes that do not fit.
/// **Source**: Kobayashi et al., "Attention is Not Only a Weight", 2020.
Tensor value_weighted(const Tensor& weights, const Tensor& values, const Tensor& out_proj);

/// How much of each input token reaches each output token, if residual connections pass half:
/// the product of (mean of the heads + I) / 2 over the layers, from the first.
///
/// **Shapes**: one (B, H, T, T) per layer -> (B, T, T); rows add up to 1 if those of the weights do.
/// **Errors**: no layer; shapes that differ.
/// **Source**: Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020.
Tensor attention_rollout(const std::vector<Tensor>& weights);

}  // namespace tessera::inspect
