// Measures of likeness between vectors.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// The cosine of the angle between vectors along `axis`: a b / (max(|a|, eps) max(|b|, eps)).
///
/// **Shapes**: any two that broadcast, without `axis` (of the broadcast shape).
/// A zero vector has similarity 0 to everything. Integers and bools give float32.
/// **Errors**: shapes that do not broadcast, an axis out of range, an eps below 0.
/// **Source**: torch.nn.functional.cosine_similarity.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, index_t axis = 1, double eps = 1e-8);

}  // namespace tessera
