// Gradients of whole modules: gradcheck for every element of every parameter.
#pragma once

#include <cstddef>
#include <string>

#include "nn/module.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {

/// Whether the gradients of `forward(module)` at every parameter are those of central differences.
/// Takes the module by value: its parameters become float64 leaves.
template <class Module, class Forward>
::testing::AssertionResult module_gradients_agree(Module module, const Forward& forward,
                                                  const GradcheckOptions& options = {}) {
  nn::convert(module, kFloat64);
  Tensors leaves;
  std::string names;
  nn::for_each_parameter(module, [&](const std::string& name, const Tensor& parameter) {
    names += (leaves.empty() ? "" : ", ") + name;
    leaves.push_back(parameter.detach().clone());
  });
  const Function of_parameters = [&](const Tensors& values) {
    std::size_t i = 0;
    nn::for_each_parameter(module,
                           [&](const std::string&, Tensor& parameter) { parameter = values[i++]; });
    return forward(static_cast<const Module&>(module));
  };
  const auto result = gradients_agree(
      of_parameters, leaves, [](Tensor x) { return x; }, options);
  return result ? result : ::testing::AssertionFailure() << result.message() << "\nof " << names;
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
