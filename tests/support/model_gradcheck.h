// Gradients of whole modules: gradcheck for every element of every parameter.
#pragma once

#include <string>
#include <utility>

#include "tessera/nn/module.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {

/// Whether the gradients of `forward(module)` at every parameter are those of central differences.
template <class Module, class Forward>
::testing::AssertionResult module_gradients_agree(const Module& module, const Forward& forward) {
  Module copy = nn::clone(module);
  nn::convert(copy, kFloat64);
  nn::set_requires_grad(copy);
  const auto loss = [&] { return forward(std::as_const(copy)); };
  return agrees([&] { nn::check_gradients(copy, loss, kEveryElement); });
}

/// Whether `loss_of(module)` gives every parameter a gradient that is not all zero.
template <class Module, class Loss>
::testing::AssertionResult every_parameter_learns(Module& module, const Loss& loss_of) {
  nn::set_requires_grad(module);
  Tape tape;
  tape.backward(loss_of(static_cast<const Module&>(module)));
  std::string dead;
  nn::for_each_parameter(module, [&](const std::string& name, const Tensor& parameter) {
    const Tensor gradient = parameter.grad();
    bool any = false;
    if (gradient.defined()) {
      for (double value : array(gradient).values) any = any || value != 0;
    }
    if (!any) dead += " " + name;
  });
  if (dead.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no gradient:" << dead;
}

}  // namespace tessera::test
