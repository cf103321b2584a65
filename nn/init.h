// What new parameters start as.
#pragma once

#include <functional>

#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// What a new parameter starts as: a tensor of this shape, drawn from the generator if it is random.
using Start = std::function<Tensor(const Shape& shape, Rng& rng)>;

/// U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's start for the weight and bias of a linear layer
/// (kaiming_uniform with a = sqrt(5)).
/// **Source**: torch.nn.Linear.reset_parameters.
Start linear_uniform(index_t fan_in);

/// U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), for a weight of shape (fan_out, fan_in); a Start
/// itself.
/// **Source**: Glorot and Bengio, 2010, eq. 16; torch.nn.init.xavier_uniform_.
Tensor xavier_uniform(const Shape& shape, Rng& rng);

/// N(0, std^2). **Errors**: a std that is negative or not finite.
Start normal(double std);

/// `value` everywhere, and nothing is drawn.
Start constant(double value);

}  // namespace tessera::nn
