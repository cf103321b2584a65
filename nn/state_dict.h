// The parameters of a module by name: to read, to load and to print.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/nn/visit.h"

namespace tessera::nn {

/// Parameters by their full names, `layers.0.linear1.weight`.
using StateDict = std::map<std::string, Tensor>;

/// The options of load_state_dict().
struct LoadOptions {
  std::string prefix = {};  // only names with this prefix are loaded, under the rest of the name
  bool strict = true;       // names that are missing or unexpected are an error
  std::string file = {};    // of the state, for errors; empty: not from a file
};

/// The names for which load_state_dict found no counterpart.
struct LoadReport {
  std::vector<std::string> missing_keys;     // parameters without a tensor
  std::vector<std::string> unexpected_keys;  // full names without a parameter
};

namespace detail {

/// The tensors to load, by the parameters' names.
struct LoadPlan {
  StateDict tensors;
  LoadReport report;
};

/// **Errors**: names and shapes that do not fit, as load_state_dict.
LoadPlan plan_load(const StateDict& wanted, const StateDict& given, const LoadOptions& options);

StateDict state_dict(const Parts& parts);
LoadReport load_state_dict(const Parts& parts, const StateDict& state, const LoadOptions& options);
std::string summary(const Parts& parts);

}  // namespace detail

/// Every parameter under PyTorch's name. The tensors share the module's memory: clone() them to
/// keep the present values. **Errors**: a prepacked weight; two parameters of one name.
/// **Source**: torch.nn.Module.state_dict.
template <class M>
StateDict state_dict(const M& module) {
  return detail::state_dict(detail::parts_of(module));
}

/// Copies `state` into the module's parameters, converting dtypes.
///
/// With a prefix only names that begin with the prefix are used. The report lists the other names
/// as unexpected_keys, but they are no error.
/// **Errors**: a prepacked weight; a different shape; if `strict`, missing names, and
/// unexpected names with the prefix; otherwise, no name that matches. The error of names and shapes
/// lists up to 30 differences, and a prefix with which more names match, if there is one; with
/// `file` it is a std::runtime_error that begins with `file`. While a tape records, also: a tensor
/// of `state` that is a variable; and, if the tape holds recorded ops, a parameter that is a
/// variable. After an error nothing is changed.
/// **Source**: torch.nn.Module.load_state_dict.
template <class M>
LoadReport load_state_dict(M& module, const StateDict& state, const LoadOptions& options = {}) {
  if constexpr (detail::may_change<M>()) {
    return detail::load_state_dict(detail::parts_of(module), state, options);
  } else {
    return {};
  }
}

/// A table of names, shapes and counts, to be read by people. **Errors**: as element_count.
std::string describe(const std::map<std::string, Shape>& shapes);

/// A table of the module's parameters: names, shapes and counts, and their total.
template <class M>
std::string summary(const M& module) {
  return detail::summary(detail::parts_of(module));
}

}  // namespace tessera::nn
