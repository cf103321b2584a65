// How alike embeddings are.
#pragma once

#include "tensor/tensor.h"

namespace tessera::models {

/// How alike two embeddings are: larger is more alike.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };

/// **Shapes**: a (N, D), b (M, D) -> (N, M): the cosine of the angle, the dot product, or minus the
/// distance |a - b|_2 or |a - b|_1. A zero vector has the cosine 0 to everything.
Tensor similarity(Similarity kind, const Tensor& a, const Tensor& b);

}  // namespace tessera::models
