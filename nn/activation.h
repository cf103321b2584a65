// Activation functions by name, as an option of other modules. Linear layers apply them in the same
// pass.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

using tessera::Activation;

/// The activation of each element. **Shapes**: any -> the same. **Errors**: an unknown activation.
Tensor activate(Activation activation, const Tensor& x);

}  // namespace tessera::nn
