// Several tensors made into one.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The parts laid one after another along `axis`.
///
/// **Shapes**: parts of one rank whose sizes agree on every axis but `axis`, where they add up; a
/// part may be empty there. The result has the promoted dtype.
/// **Errors**: no parts, an undefined part, ranks or other sizes that differ, an axis out of range.
/// **Source**: numpy.concatenate, torch.cat.
Tensor concat(const std::vector<Tensor>& parts, index_t axis = 0);

/// The parts laid side by side along a new axis, which stands at `axis` of the result.
///
/// **Shapes**: parts of one shape; n parts give size n. The result has the promoted dtype.
/// **Errors**: no parts, an undefined part, shapes that differ, an axis out of range.
/// **Source**: numpy.stack, torch.stack.
Tensor stack(const std::vector<Tensor>& parts, index_t axis = 0);

}  // namespace tessera
