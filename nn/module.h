// Modules: plain structs with their parts as members and operator() as forward.
//
// A module names its members once, in a static `visit`; all other functions follow from it:
// parameters, state dicts, counting, train and eval, conversion, copies, printing.
//
//   struct Linear {
//     Weight weight;
//     Tensor bias;
//     Tensor operator()(const Tensor& x) const;
//
//     static void visit(auto& self, auto&& visitor) {
//       visitor("weight", self.weight);
//       visitor("bias", self.bias);
//     }
//   };
//   static_assert(nn::Module<Linear>);
//
// `self` is the module, const or not, so one function serves readers and writers. A member that
// `visit` names is a parameter, a Buffer, a module, or an optional or a vector of these, not const.
// A parameter is a Tensor or a Weight, and is absent if undefined. A Weight is a matrix of which
// products keep a copy in their own layout. An op that a tape records rejects a parameter from a
// ParameterSource that no call of `visit` has named. A Buffer is a constant, such as a table of
// positions. Functions that change a module do not compile for a const module. Names are PyTorch's,
// so that PyTorch's state dicts load as they are.
//
// Copying a module copies handles: the copy shares the parameters. clone(module) has parameters of
// its own.
#pragma once

#include "tessera/nn/state_dict.h"
#include "tessera/nn/visit.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

namespace detail {

index_t parameter_count(const Parts& parts);
void set_training(const Parts& parts, bool training);
void set_requires_grad(const Parts& parts, bool wanted);
void zero_grad(const Parts& parts);
void convert(const Parts& parts, DType dtype);
/// Gives the parts parameters of their own.
void clone_parameters(const Parts& parts);
/// Marks a variable that was replaced, for code that still holds it.
void mark_replaced(const Tensor& variable);

}  // namespace detail

/// The number of elements of all parameters. A tied parameter is counted once per name.
template <class M>
index_t parameter_count(const M& module) {
  return detail::parameter_count(detail::parts_of(module));
}

/// Turns dropout on or off in the module and all its parts. New modules are in training mode, as in
/// PyTorch.
/// **Source**: torch.nn.Module.train.
template <class M>
void set_training(M& module, bool training) {
  if constexpr (detail::may_change<M>()) {
    detail::set_training(detail::parts_of(module), training);
  }
}
/// Turns training mode on: set_training(module, true).
template <class M>
void train(M& module) {
  set_training(module, true);
}
/// Turns training mode off: set_training(module, false).
template <class M>
void eval(M& module) {
  set_training(module, false);
}

/// Makes every parameter a variable, whose gradient a tape computes; or, if `wanted` is false, a
/// parameter without gradient. The parameters of a new module have no gradient, unlike PyTorch's:
/// call this function before training, and then set_requires_grad(model.part, false) for each part
/// that must not learn. A call with false, then with true, makes new variables, so make the
/// optimiser afterwards.
/// **Errors**: if `wanted`, a prepacked weight; a parameter that is not floating, or that
/// is the result of a recorded op. After an error nothing is changed.
/// **Source**: torch.nn.Module.requires_grad_.
template <class M>
void set_requires_grad(M& module, bool wanted = true) {
  if constexpr (detail::may_change<M>()) {
    detail::set_requires_grad(detail::parts_of(module), wanted);
  }
}

/// Makes the gradients of all parameters undefined.
/// **Source**: torch.nn.Module.zero_grad.
template <class M>
void zero_grad(M& module) {
  if constexpr (detail::may_change<M>()) detail::zero_grad(detail::parts_of(module));
}

/// Converts every floating parameter and every floating Buffer to `dtype`. A converted parameter
/// has new memory and no gradient. A parameter that already has the dtype does not change.
///
/// Convert before the optimiser is made: an optimiser holds the parameters that existed when it was
/// made. If these are converted later, its next step is an error.
/// **Errors**: a dtype that is not floating; a prepacked weight. After these errors nothing is
/// changed.
/// **Source**: torch.nn.Module.to.
template <class M>
void convert(M& module, DType dtype) {
  if constexpr (detail::may_change<M>()) detail::convert(detail::parts_of(module), dtype);
}

/// A copy of the module with its own parameters. The copy has no gradients yet. A parameter that is
/// a variable, tied, or packed by prepack() in the module has the same property in the copy (packed
/// weights share their panels). The copy has the module's mode, training or not.
/// **Source**: Python's copy.deepcopy of a torch.nn.Module.
template <class M>
M clone(const M& module) {
  M copy = module;
  detail::clone_parameters(detail::parts_of(copy));
  return copy;
}

}  // namespace tessera::nn
