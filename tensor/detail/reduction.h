// Floating elements along some axes reduced to one: what the reductions of tensor/ops are made of,
// and the gradient of whatever broadcasts. Private to the library.
#pragma once

#include "tensor/kernels/table.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// `x` with the axes that a reduction over `axes` (normalized) removes merged into one, the last.
/// A view where the strides allow it. The order of the merged elements is row-major whatever the
/// strides, which is why no layout changes the bits of a reduction.
Tensor merge_last(const Tensor& x, const Axes& axes);

/// The reduction of the floating `x` over `axes` (normalized).
Tensor reduce_floating(kernels::ReduceOp op, const Tensor& x, const Axes& axes, bool keepdim);

/// The sum of the floating `x` over whatever broadcasting `shape` to the shape of x repeats.
/// **Errors**: a shape that does not broadcast to that of x.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace tessera::detail
