// Compares gradients with central differences, to test an op, a module or a loss of your own:
//
//   nn::convert(model, kFloat64);
//   nn::set_requires_grad(model);
//   nn::check_gradients(model, [&] { return nn::mse_loss(model(x), y); });
//   nn::check_gradients([](const Tensor& x) { return gelu(x); }, randn({3, 4}, kFloat64));
//
// The gradient at each element of x must be (L(x + eps) - L(x - eps)) / (2 eps). L is the function's
// value or, if this value is not one number, its sum with fixed random weights, so that errors of
// two elements do not cancel. Each call of the function draws the same numbers from default_rng().
//
// **Errors** of all functions here: a gradient that differs by more than the tolerance (the error
// names the tensor, the element and both values); a tensor without a gradient; a tensor or a value
// that is not float64; a value that is not finite, or not the same in each call; no tensor to
// check. **Source**: torch.autograd.gradcheck.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <vector>

#include "tessera/nn/module.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The options of check_gradients. A gradient may differ from the central difference d by
/// atol + rtol |d|.
struct GradientCheckOptions {
  double eps = 1e-6;       // the step of the differences
  double atol = 1e-5;      // absolute tolerance
  double rtol = 1e-3;      // relative tolerance
  index_t elements = 100;  // to check per tensor at most; larger tensors are sampled
};

namespace detail {

void check_gradients(const Parts& parts, const std::function<Tensor()>& loss,
                     const GradientCheckOptions& options);

}  // namespace detail

/// Checks the gradients of `loss()` with respect to the parameters of `model` that require one.
/// Afterwards these parameters have their previous values and no gradient.
template <Module M>
void check_gradients(M& model, const std::function<Tensor()>& loss,
                     const GradientCheckOptions& options = {}) {
  if constexpr (detail::may_change<M>()) {
    detail::check_gradients(detail::parts_of(model), loss, options);
  }
}

/// Checks the gradients of f(inputs) with respect to its floating inputs. f gets contiguous copies.
void check_gradients(const std::function<Tensor(std::span<const Tensor> inputs)>& f,
                     const std::vector<Tensor>& inputs, const GradientCheckOptions& options = {});
/// The same for an f of one tensor.
template <std::invocable<const Tensor&> F>
void check_gradients(const F& f, const Tensor& x, const GradientCheckOptions& options = {}) {
  check_gradients([&](std::span<const Tensor> inputs) { return f(inputs[0]); },
                  std::vector<Tensor>{x}, options);
}

}  // namespace tessera::nn
