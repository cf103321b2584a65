// Prepacks models for inference: weights keep only their panels, the layout that products read.
#pragma once

#include <functional>
#include <string>

#include "tessera/nn/visit.h"

namespace tessera::nn {

/// The options of prepack().
struct PrepackOptions {
  WeightFormat format = WeightFormat::kExact;
  /// Whether the weight with this name stays kExact. If `keep` is empty, no name is kept, except
  /// that models::prepack then keeps, for kInt8, all weights outside the layers.
  std::function<bool(const std::string& name)> keep = {};
};

namespace detail {

void prepack(const Parts& parts, const PrepackOptions& options);
void unpack(const Parts& parts);

}  // namespace detail

/// Replaces the elements of every Weight of the module by panels, the layout that products read.
/// Without prepack the elements and the panels of a weight are both in memory. Names and shapes do
/// not change.
///
/// With kExact the results are bitwise the same as before. kInt8 rounds the weight and the input
/// of each product to 8 bits: panels take 1/4 of the bytes, and a product takes 1/3 to 1/2 of the
/// time. Small weights stay kExact: see WeightFormat.
///
/// Copies of the module share the panels. Panels are for the instruction set in use: after
/// set_isa(), products throw until prepack is called again. A matrix whose elements are also read,
/// such as an embedding that is tied to an output, keeps its elements, and its panels have the
/// format. Biases, norms and other embeddings do not change. A parameter that is assigned later is
/// not prepacked. To change the format, prepack again.
///
/// Until unpack(), everything that needs the replaced elements is an error: training, gradients
/// through the module, saving, loading, conversion. Weights without elements are no longer
/// variables, and unpack() does not make them variables again: the next step of an optimiser that
/// holds these weights throws. To train one copy and prepack another, prepack clone(module). No
/// other thread may use the module during this call.
/// **Errors**: an unknown format; a weight that is not a float32 matrix; a weight for gated_linear
/// with an odd number of rows; with kInt8, inf or NaN in a weight that would be rounded. After an
/// error the module is unchanged.
/// **Source**: as WeightFormat.
template <class M>
void prepack(M& module, const PrepackOptions& options = {}) {
  if constexpr (detail::may_change<M>()) detail::prepack(detail::parts_of(module), options);
}

/// Restores the elements of a prepacked module's weights; after kInt8, the elements are the rounded
/// ones.
template <class M>
void unpack(M& module) {
  if constexpr (detail::may_change<M>()) detail::unpack(detail::parts_of(module));
}

}  // namespace tessera::nn
