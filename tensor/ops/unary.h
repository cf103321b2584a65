// Functions of one number, element by element.
//
// Shapes: any, which the result has too. Integers and bools are converted to float32 first, but
// stay int64 in abs, square, sign and relu, where bool counts as int64. NaN gives NaN.
// How exact each is stands in tensor/kernels/math.h. Source: numpy, torch, by the same names.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

Tensor exp(const Tensor& x);
/// The natural logarithm; -inf of 0, NaN below.
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor tanh(const Tensor& x);
/// 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& x);
Tensor abs(const Tensor& x);
/// x x.
Tensor square(const Tensor& x);
/// 1 / x.
Tensor reciprocal(const Tensor& x);
/// -1, 0 or 1.
Tensor sign(const Tensor& x);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
/// max(x, 0).
Tensor relu(const Tensor& x);

/// x (1 + erf(x / sqrt 2)) / 2, that is x Phi(x), where Phi is the distribution function of the
/// standard normal; BERT's "gelu".
/// **Source**: Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv 1606.08415.
Tensor gelu(const Tensor& x);
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, the approximation of gelu that torch calls
/// approximate="tanh"; Hugging Face's "gelu_new" and "gelu_pytorch_tanh". Source: as gelu.
Tensor gelu_tanh(const Tensor& x);

}  // namespace tessera
