// Functions of one number, element by element.
//
// **Shapes**: any -> the same. Integers and bools give float32, except in abs, square, sign, floor,
// ceil, round, relu and clamp, where they give int64. NaN gives NaN. tensor/kernels/math.h and
// tensor/kernels/trigonometry.h state the largest errors of the results.
// **Errors**: an undefined tensor. **Source**: numpy, torch, by the same names.
#pragma once

#include <optional>

#include "tessera/tensor/ops/operand.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// e^x.
Tensor exp(const Tensor& x);
/// exp(x) - 1, accurate also for x near 0.
Tensor expm1(const Tensor& x);
/// The natural logarithm; -inf for 0, NaN for x < 0.
Tensor log(const Tensor& x);
/// log(1 + x), accurate also for x near 0.
Tensor log1p(const Tensor& x);
/// The square root; NaN for x < 0.
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
/// The sine of an angle in radians, of any size; NaN for infinities.
Tensor sin(const Tensor& x);
/// The cosine of an angle in radians, of any size; NaN for infinities.
Tensor cos(const Tensor& x);
/// The hyperbolic tangent.
Tensor tanh(const Tensor& x);
/// 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& x);
/// |x|. The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// x times x.
Tensor square(const Tensor& x);
/// 1 / x.
Tensor reciprocal(const Tensor& x);
/// -1, 0 or 1. The gradient is 0.
Tensor sign(const Tensor& x);
/// The nearest integer that is not above x. The gradient is 0.
Tensor floor(const Tensor& x);
/// The nearest integer that is not below x. The gradient is 0.
Tensor ceil(const Tensor& x);
/// The nearest integer; the even one if two are equally near. The gradient is 0.
Tensor round(const Tensor& x);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
/// max(x, 0).
/// **Source**: Nair and Hinton, "Rectified linear units improve restricted Boltzmann machines",
/// 2010.
Tensor relu(const Tensor& x);
/// x if x > 0, else `negative_slope` x. **Errors**: a slope of NaN.
/// **Source**: Maas et al., "Rectifier nonlinearities improve neural network acoustic models",
/// 2013; torch.nn.functional.leaky_relu.
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x sigmoid(x), which is 0 at -inf.
/// **Source**: Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units for neural network function
/// approximation in reinforcement learning", 2017; torch.nn.functional.silu.
Tensor silu(const Tensor& x);
/// log(1 + exp(beta x)) / beta; x if beta x > `threshold`.
///
/// **Errors**: a beta that is not positive and finite; a threshold of NaN.
/// **Source**: torch.nn.functional.softplus.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);

/// min(max(x, least), most), where one bound may be left out: `clamp(x, 0)`, `clamp(x, {}, 1)`.
///
/// The result is `most` if least > most. The gradient of x is that of the result if least <= x <=
/// most, otherwise 0. Integers give int64 if the bounds are integers, and float32 otherwise.
/// **Errors**: no bound; a bound of NaN.
Tensor clamp(const Tensor& x, std::optional<Scalar> least, std::optional<Scalar> most = {});

/// x (1 + erf(x / sqrt 2)) / 2, that is x Phi(x), where Phi is the distribution function of the
/// standard normal; BERT's "gelu".
/// **Source**: Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016;
/// torch.nn.functional.gelu.
Tensor gelu(const Tensor& x);
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, the approximation of gelu that torch calls
/// approximate="tanh"; Hugging Face's "gelu_new" and "gelu_pytorch_tanh". **Source**: as gelu.
Tensor gelu_tanh(const Tensor& x);

}  // namespace tessera
