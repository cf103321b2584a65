// Training against a small change of the input that makes the loss larger.
#pragma once

#include <functional>

#include "nn/training/loss_sum.h"
#include "tensor/shape.h"

namespace tessera::nn {

/// The mean of the losses at an input and at a neighbouring input with a higher loss:
///
///     (L(0) + L(r)) / 2,    r_b = size g_b / |g_b|
///
/// `loss(r)` must return L(r), the loss with r added to the input. The first axis of the input
/// counts examples: r_b is the part of r for example b. g_b is the gradient of L with regard to r_b
/// at r = 0, and |g_b| is its Euclidean norm. If g_b is zero, as for padding, r_b is 0. No gradient
/// flows through r to the parameters. The result has the `count` and `correct` of L(0).
///
/// The loss function of a trainer can call this function. `loss` is called twice. The gradient of
/// L(0) / 2 is already in grad() of the parameters when this function returns; the caller's
/// backward adds that of L(r) / 2.
/// **Shapes**: r and the input have `shape`, (B, ...). **Errors**: a size that is not finite and
/// above 0; a shape without axes or with a negative size; a dtype that is not floating; an empty
/// function; a loss that is not one number or does not depend on r; those of `loss`.
/// **Source**: Goodfellow et al., "Explaining and harnessing adversarial examples", 2015, section
/// 6, with alpha = 1/2; Miyato et al., "Adversarial training methods for semi-supervised text
/// classification", 2017, section 3, for r on embedded words.
LossSum adversarial_loss(const Shape& shape, double size,
                         const std::function<LossSum(const Tensor& shift)>& loss,
                         DType dtype = kFloat32);

}  // namespace tessera::nn
