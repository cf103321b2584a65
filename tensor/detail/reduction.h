// Reduces floating elements along some axes: used by the reductions of tensor/ops and by the
// gradients of broadcasting ops. Private to the library.
#pragma once

#include "tensor/kernels/table.h"
#include "tensor/tensor.h"

namespace tessera::detail {

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
