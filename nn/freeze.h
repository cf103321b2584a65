// Models for inference only: packed weights replace the weights.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nn/visit.h"

namespace tessera::nn {

namespace detail {

/// A module's parameters, as freezing sees them.
struct FoundWeights {
  std::vector<std::pair<std::string, Weight*>> weights;  // that are there
  std::vector<Tensor> others;                            // the other parameters
};

template <class M>
FoundWeights find_weights(M& module) {
  FoundWeights found;
  walk(module, "", [&](const std::string& name, auto& part) {
    using Part = std::remove_reference_t<decltype(part)>;
    if constexpr (std::same_as<Part, Weight>) {
      if (part.defined()) found.weights.emplace_back(name, &part);
    } else if constexpr (std::same_as<Part, Tensor>) {
      if (part.defined()) found.others.push_back(part);
    }
  });
  return found;
}

void freeze(const FoundWeights& found, WeightFormat format);
void thaw(const FoundWeights& found);

}  // namespace detail

/// Replaces every Weight of the module by its panels in `format`: the parameters keep their names and
/// shapes, but their elements are given up. So a weight is held once, not next to its packed copy,
/// and by kBFloat16 in half the bytes, which few rows read in little more than half the time; the
/// weights are rounded to three digits, sums are float32's.
///
/// The module computes as before, to the bit with kExact, by any instruction set, and so do copies,
/// which share the panels. A matrix that is also read in another way, as an embedding that is tied to
/// an output, keeps its elements; only its panels have the format. No bias, norm or embedding
/// changes. A parameter that is assigned anew is an ordinary one. To freeze again changes the format.
///
/// All uses of the elements are errors from here on: training, gradients that pass the module,
/// saving, loading, conversion. Weights are variables no longer, nor after thaw(): an optimiser
/// that holds them refuses its next step, and to train one copy and freeze another, freeze
/// clone(module). No other thread may use the module while it freezes.
/// **Errors**: an unknown format; a matrix that is not float32. Then nothing is changed.
template <class M>
void freeze(M& module, WeightFormat format = WeightFormat::kExact) {
  if constexpr (detail::may_change<M>()) detail::freeze(detail::find_weights(module), format);
}

/// Gives a frozen module's parameters their elements back: those they had, or, after kBFloat16, the
/// rounded ones.
template <class M>
void thaw(M& module) {
  if constexpr (detail::may_change<M>()) detail::thaw(detail::find_weights(module));
}

}  // namespace tessera::nn
