// Activation functions by name, as an option of other modules.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

enum class Activation {
  kRelu,      // max(x, 0)
  kGelu,      // x/2 (1 + erf(x / sqrt 2)): PyTorch's default, Hugging Face's "gelu"
  kGeluTanh,  // its tanh approximation: Hugging Face's "gelu_new" and "gelu_pytorch_tanh"
};

/// The activation of each element. **Shapes**: any -> the same.
Tensor activate(Activation activation, const Tensor& x);

}  // namespace tessera::nn
