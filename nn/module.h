// Modules: plain structs with their parts as members and operator() as forward.
//
// A module names its members once, in a static `visit`; everything else follows from that:
// parameters, state dicts, counting, train and eval, conversion, printing.
//
//   struct Linear {
//     Tensor weight, bias;
//     Tensor operator()(const Tensor& x) const;
//
//     template <class Self, class Visitor>
//     static void visit(Self& self, Visitor&& visitor) {
//       visitor("weight", self.weight);
//       visitor("bias", self.bias);
//     }
//   };
//
// `Self` is the module or const module, so one function serves readers and writers. A member is a
// Tensor (a parameter; an undefined one is absent), a module, an optional module or a vector of
// modules. Names are PyTorch's, so that state dicts load as they are.
//
// Copying a module copies handles: the copy shares the parameters. For one with its own, make a
// second module with the same options and load_state_dict(second, state_dict(first)).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::nn {

/// Parameters by their full names, `layers.0.linear1.weight`.
using StateDict = std::map<std::string, Tensor>;

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

/// Calls `at_parameter(name, tensor)` for each parameter of a module (or other member) and
/// `at_module(name, module)` for each module, itself included, in the order in which they are
/// named.
template <class Member, class AtParameter, class AtModule>
void walk(Member& member, const std::string& name, const AtParameter& at_parameter,
          const AtModule& at_module) {
  using Plain = std::remove_const_t<Member>;
  if constexpr (std::is_same_v<Plain, Tensor>) {
    if (member.defined()) at_parameter(name, member);
  } else if constexpr (detail::is_optional<Plain>) {
    if (member) walk(*member, name, at_parameter, at_module);
  } else if constexpr (detail::is_vector<Plain>) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      walk(member[i], name + "." + std::to_string(i), at_parameter, at_module);
    }
  } else {
    at_module(name, member);
    Plain::visit(member, [&](std::string_view part, auto& inner) {
      walk(inner, name.empty() ? std::string(part) : name + "." + std::string(part), at_parameter,
           at_module);
    });
  }
}

/// Calls `f(name, parameter)` for each parameter.
template <class Module, class F>
void for_each_parameter(Module& module, const F& f) {
  walk(module, "", f, [](const std::string&, auto&) {});
}

/// Every parameter under PyTorch's name. The tensors share the module's memory: clone() those that
/// shall stay as they are now.
template <class Module>
StateDict state_dict(const Module& module) {
  StateDict state;
  for_each_parameter(module, [&](const std::string& name, const Tensor& parameter) {
    state.emplace(name, parameter);
  });
  return state;
}

/// The names that `given` lacks or has too much and the shapes that differ from `wanted`, a line
/// each, begun by a line break; empty if the two fit.
std::string state_differences(const StateDict& wanted, const StateDict& given);

/// Throws unless `given` has exactly the names and shapes of `wanted`; the error lists what
/// differs.
void check_state_dict(const StateDict& wanted, const StateDict& given);

/// Copies `state` into the module's parameters, converting dtypes.
/// **Errors**: missing names, unexpected names, other shapes; then nothing is changed.
template <class Module>
void load_state_dict(Module& module, const StateDict& state) {
  check_state_dict(state_dict(module), state);
  for_each_parameter(module, [&](const std::string& name, Tensor& parameter) {
    parameter.copy_from(state.at(name));
  });
}

/// The number of elements of all parameters.
template <class Module>
index_t parameter_count(const Module& module) {
  index_t count = 0;
  for_each_parameter(module, [&](const std::string&, const Tensor& p) { count += p.count(); });
  return count;
}

/// Turns dropout on or off in the module and all its parts. Modules are made in training mode, as
/// PyTorch's.
template <class Module>
void set_training(Module& module, bool training) {
  walk(
      module, "", [](const std::string&, auto&) {},
      [&](const std::string&, auto& part) {
        if constexpr (requires { part.training = training; }) part.training = training;
      });
}
template <class Module>
void train(Module& module) {
  set_training(module, true);
}
template <class Module>
void eval(Module& module) {
  set_training(module, false);
}

/// Makes every parameter a variable, of which a tape computes the gradient, or no longer one.
/// Modules are made without, unlike PyTorch's: training begins with this call, and a part is frozen
/// by `set_requires_grad(model.part, false)` after it. What was frozen and wants a gradient again
/// is another variable: an optimiser made before does not know it.
template <class Module>
void set_requires_grad(Module& module, bool wanted = true) {
  for_each_parameter(module, [&](const std::string&, Tensor& p) { p.set_requires_grad(wanted); });
}

/// Forgets the gradients of all parameters.
template <class Module>
void zero_grad(Module& module) {
  for_each_parameter(module, [](const std::string&, Tensor& p) { p.zero_grad(); });
}

/// Converts every parameter to `dtype`, in new memory and without the gradient it has; one that has
/// the dtype already stays as it is.
template <class Module>
void convert(Module& module, DType dtype) {
  for_each_parameter(module, [&](const std::string&, Tensor& parameter) {
    if (parameter.dtype() == dtype) return;
    const bool is_variable = parameter.requires_grad();
    parameter = parameter.detach().to(dtype);
    parameter.set_requires_grad(is_variable);
  });
}

/// A table of names, shapes and counts, for people to read.
std::string describe(const StateDict& state);

/// A table of the module's parameters: names, shapes and counts, and their total.
template <class Module>
std::string summary(const Module& module) {
  return describe(state_dict(module));
}

}  // namespace tessera::nn
