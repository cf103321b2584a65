// Elements in order along an axis.
//
// NaN of either sign counts as greater than all numbers, and as equal to NaN; 0 and -0 are equal.
// Equal elements keep the order of their indices, also if `descending`, so each result is unique.
// Indices have no gradient; values have the gradient of `gather`.
// **Errors**: an axis out of range; a scalar, because it has no axis; an undefined tensor.
// **Source**: torch, by the same names.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// Elements and their original positions: `auto [values, indices] = topk(x, 5)`.
struct Ordered {
  Tensor values;   // of x's dtype
  Tensor indices;  // int64: values = gather(x, axis, indices)
};

/// The elements along `axis` from the smallest to the greatest; if `descending`, from the greatest
/// to the smallest.
/// **Shapes**: values and indices have the shape of x.
Ordered sort(const Tensor& x, index_t axis = -1, bool descending = false);

/// Only the indices of sort. **Shapes**: that of x, int64. **Source**: torch.argsort, stable.
Tensor argsort(const Tensor& x, index_t axis = -1, bool descending = false);

/// The k greatest elements along `axis`, the greatest first; if not `largest`, the k smallest, the
/// smallest first.
///
/// **Shapes**: values and indices have the shape of x with k at `axis`. **Errors**: k outside [0,
/// size of the axis].
Ordered topk(const Tensor& x, index_t k, index_t axis = -1, bool largest = true);

}  // namespace tessera
