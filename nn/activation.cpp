#include "nn/activation.h"

#include "tensor/error.h"
#include "tensor/ops/unary.h"

namespace tessera::nn {

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return relu(x);
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kSilu:
      return silu(x);
  }
  fail_enum("activate", "activation", activation);
}

}  // namespace tessera::nn
