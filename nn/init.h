// The distributions that parameters start from.
#pragma once

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's start for the weight and bias of a linear layer
/// (kaiming_uniform with a = sqrt(5)).
/// **Source**: torch.nn.Linear.reset_parameters.
Tensor linear_uniform(const Shape& shape, index_t fan_in, Rng& rng);

/// U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), for a weight of shape (fan_out, fan_in).
/// **Source**: Glorot and Bengio, 2010, eq. 16; torch.nn.init.xavier_uniform_.
Tensor xavier_uniform(const Shape& shape, Rng& rng);

/// N(0, std^2). **Errors**: a std that is negative or not finite.
Tensor normal(const Shape& shape, double std, Rng& rng);

}  // namespace tessera::nn
