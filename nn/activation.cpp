#include "nn/activation.h"

#include "tensor/ops/unary.h"

namespace tessera::nn {

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return relu(x);
    case Activation::kGelu:
      return gelu(x, Gelu::kErf);
    case Activation::kGeluTanh:
      break;
  }
  return gelu(x, Gelu::kTanh);
}

}  // namespace tessera::nn
