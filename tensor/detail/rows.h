// A tensor as a matrix, for ops that work along some of its axes: one row per index of the axes
// that stay, in whose columns lie the elements of the axes that the op runs over. Private to
// the library.
#pragma once

#include "tensor/tensor.h"

namespace tessera::detail {

/// The axes that stay, then `axes` (normalized), each part in ascending order.
Axes rows_then_columns(index_t rank, const Axes& axes);

/// x as (rows, n), row-major over the axes that stay and over `axes` (normalized); a row's elements
/// are contiguous. A view where the strides allow it, a copy where not.
Tensor as_rows(const Tensor& x, const Axes& axes);

/// The inverse: `rows`, contiguous, as a contiguous tensor of `shape`.
Tensor from_rows(const Tensor& rows, const Shape& shape, const Axes& axes);

/// The elements of a tensor that an op can do without, as kernels take them.
template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace tessera::detail
