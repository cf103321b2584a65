// Attention weights, combined with the values or over all layers.
#pragma once

#include <vector>

#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/tensor.h"

namespace tessera::inspect {

/// `|W_O v_j|` for each head: the norm of the vector that token j offers to the other tokens. v_j
/// is the head's value of token j, and W_O the head's columns of `out_proj`.
///
/// `out_proj` may be a prepacked Weight. **Shapes**: values (B, T, G d), the hook point
/// `self_attn.v`, where G is H unless heads are grouped; out_proj (D, H d) -> (B, H, T).
/// **Errors**: shapes or dtypes that do not match; a number of heads that is below 1 or does not
/// divide the width.
/// **Source**: as norm_weighted_attention.
Tensor value_norms(const Tensor& values, const Weight& out_proj, index_t heads);

/// `|weights[i, j] W_O v_j|` for each head: the norm of the vector that token j sends to token i.
/// W_O and v_j are those of value_norms.
///
/// A large weight on a vector of small norm moves little: many heads put such weights on [CLS].
/// **Shapes**: weights (B, H, T, T), the hook point `self_attn.weights`, values and out_proj as in
/// value_norms -> (B, H, T, T). **Errors**: as value_norms.
/// **Source**: Kobayashi et al., "Attention is Not Only a Weight", 2020.
Tensor norm_weighted_attention(const Tensor& weights, const Tensor& values, const Weight& out_proj);

/// The fraction of each input token in each output token, if each layer takes half from attention
/// and half from the residual connection: the product of (mean of the heads' weights + I) / 2 over
/// the layers, with the first layer as the last factor.
///
/// **Shapes**: one (B, H, T, T) per layer -> (B, T, T); rows sum to 1 if the rows of the weights
/// sum to 1.
/// **Errors**: no layer; weights that are not (B, H, T, T); layers with a different B or T.
/// **Source**: Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020.
Tensor attention_rollout(const std::vector<Tensor>& weights);

}  // namespace tessera::inspect
