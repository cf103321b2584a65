// A tensor as a matrix, for ops that work along some of its axes: rows are the indices of the other
// axes, columns the elements of the axes that the op runs over. This header also reduces such rows,
// for the reductions of tensor/ops and the gradients of broadcasting ops. Private to the library.
#pragma once

#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/tensor.h"

namespace tessera::detail {

/// The other axes, then `axes` (normalized), each part in ascending order.
Axes rows_then_columns(index_t rank, const Axes& axes);

/// x as (rows, n), row-major over the other axes and over `axes` (normalized); a row's elements are
/// contiguous. A view if the strides allow it, otherwise a copy.
Tensor as_rows(const Tensor& x, const Axes& axes);

/// The inverse: `rows`, contiguous, as a contiguous tensor of `shape`.
Tensor from_rows(const Tensor& rows, const Shape& shape, const Axes& axes);

/// The data of an optional operand, as kernels take it: null if it is undefined.
template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

/// `x` with the axes that a reduction over `axes` (normalized) removes merged into one, the last. A
/// view if the strides allow it. The merged elements are in row-major order for any strides, so the
/// layout does not change the bits of a reduction.
Tensor merge_last(const Tensor& x, const Axes& axes);

/// The reduction of the floating `x` over `axes` (normalized).
Tensor reduce_floating(kernels::ReduceOp op, const Tensor& x, const Axes& axes, bool keepdim);

/// The sum of the floating `x` over the axes along which broadcasting `shape` to the shape of x
/// repeats.
/// **Errors**: a shape that does not broadcast to that of x.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace tessera::detail
