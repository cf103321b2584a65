// The parameters that an optimiser changes, by name and in groups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/nn/module.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// A variable under its name. The tensor shares memory and gradient with the module's parameter.
struct Parameter {
  std::string name;
  Tensor tensor;
};
using Parameters = std::vector<Parameter>;

namespace detail {
Parameters parameters(const Parts& parts);
}

/// The parameters of a module that require a gradient, in the order of `visit`; a parameter with
/// two names (tied weights) is listed once, under its first name. Call set_requires_grad(module)
/// first: parameters that require no gradient are omitted, so that an optimiser does not change
/// them. **Errors**: two parameters of one name.
template <class M>
Parameters parameters(const M& module) {
  return detail::parameters(detail::parts_of(module));
}

/// Parameters with their own settings; absent settings are the optimiser's.
struct ParameterGroup {
  Parameters parameters;
  std::optional<double> lr = {};
  std::optional<double> weight_decay = {};
};

namespace detail {

/// One group: the given parameters, or those of a module.
inline std::vector<ParameterGroup> groups_of(const Parameters& parameters) {
  return {ParameterGroup{parameters}};
}
template <class M>
std::vector<ParameterGroup> groups_of(const M& module) {
  return groups_of(nn::parameters(module));
}

}  // namespace detail

/// Two groups: the parameters with at least two axes (matrices), with the optimiser's weight decay,
/// and the parameters with at most one axis (biases and the scales of norms), without decay.
/// **Source**: google-research/bert, optimization.py, which excludes biases and layer norms.
std::vector<ParameterGroup> split_weight_decay(const Parameters& parameters);
template <class M>
std::vector<ParameterGroup> split_weight_decay(const M& module) {
  return split_weight_decay(parameters(module));
}

}  // namespace tessera::nn
