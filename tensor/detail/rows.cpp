#include "tessera/tensor/detail/rows.h"

#include <algorithm>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::detail {

using kernels::ReduceOp;

Axes rows_then_columns(index_t rank, const Axes& axes) {
  Axes order;
  for (index_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  for (index_t axis : axes) order.push_back(axis);
  return order;
}

namespace {

Shape permuted(const Shape& shape, const Axes& order) {
  Shape result;
  for (index_t axis : order) result.push_back(shape[axis]);
  return result;
}

}  // namespace

Tensor as_rows(const Tensor& x, const Axes& axes) {
  const Axes order = rows_then_columns(x.rank(), axes);
  index_t rows = 1;
  index_t n = 1;
  for (index_t i = 0; i < x.rank(); ++i) {
    (i < x.rank() - axes.size() ? rows : n) *= x.shape()[order[i]];
  }
  const Tensor matrix = x.permute(order).reshape({rows, n});
  return n > 1 && matrix.strides()[1] != 1 ? matrix.clone() : matrix;
}

Tensor from_rows(const Tensor& rows, const Shape& shape, const Axes& axes) {
  const Axes order = rows_then_columns(shape.size(), axes);
  Axes inverse = order;
  for (index_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return rows.reshape(permuted(shape, order)).permute(inverse).contiguous();
}

Tensor merge_last(const Tensor& x, const Axes& axes) {
  if (axes.empty()) return x.unsqueeze(-1);
  return x.permute(rows_then_columns(x.rank(), axes)).flatten(x.rank() - axes.size(), -1);
}

namespace {

/// Longer rows are reduced in blocks of this many elements: threads share one row, and rounding
/// errors grow with the block and the number of blocks, not with the row.
constexpr index_t kBlock = 65536;

/// Reduces the last axis of `x` into the contiguous `out`.
template <class T>
void reduce_last(const kernels::FloatKernels<T>& kernel, ReduceOp op, const Tensor& x, T* out) {
  const index_t n = x.size(-1);
  const index_t step = x.strides().back();
  const Shape kept = reduced_shape(x.shape(), {x.rank() - 1}, false);
  const Strides strides = reduced_shape(x.strides(), {x.rank() - 1}, false);
  const auto plan = plan_loop<2>(kept, {row_major_strides(kept), strides});
  const index_t next = plan.strides[1].back();
  // If neighbours in memory belong to different results, whole vectors of results are computed at
  // once.
  const bool by_columns = next == 1 && step != 1;
  const T* const in = x.data<T>();
  for_each_row(plan, n, [&](const std::array<index_t, 2>& offsets, index_t count) {
    T* const y = out + offsets[0];
    const T* const first = in + offsets[1];
    if (by_columns) {
      kernel.reduce_columns(op, n, count, first, step, y);
    } else {
      for (index_t i = 0; i < count; ++i) y[i] = kernel.reduce(op, n, first + i * next, step);
    }
  });
}

/// reduce_last with long rows cut into blocks. The kernels are passed in because looking them up
/// throws if TESSERA_ISA is wrong, and a body of a parallel loop must not throw.
template <class T>
void reduce_blocks(const kernels::FloatKernels<T>& kernel, ReduceOp op, const Tensor& x, T* out) {
  const index_t n = x.size(-1);
  // Deviations are from the mean of the whole row, so these rows stay whole.
  if (n <= kBlock || op == ReduceOp::kSquaredDeviations) return reduce_last(kernel, op, x, out);
  const index_t results = x.count() / n;
  const index_t blocks = (n + kBlock - 1) / kBlock;
  Tensor partial = Tensor::empty({blocks, results}, x.dtype());
  T* const to = partial.mutable_data<T>();
  kernels::parallel_for(blocks, results * kBlock, [&](index_t begin, index_t end) {
    for (index_t b = begin; b < end; ++b) {
      reduce_last(kernel, op, x.slice(-1, b * kBlock, (b + 1) * kBlock), to + b * results);
    }
  });
  reduce_blocks(kernel, op, partial.t(), out);
}

}  // namespace

Tensor reduce_floating(ReduceOp op, const Tensor& x, const Axes& axes, bool keepdim) {
  Tensor result = Tensor::empty(reduced_shape(x.shape(), axes, keepdim), x.dtype());
  if (result.count() == 0) return result;
  const Tensor merged = merge_last(x, axes);
  visit_floating(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    reduce_blocks(kernels::table<T>(), op, merged, result.mutable_data<T>());
  });
  return result;
}

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  require(broadcast_shapes("sum_to_shape", shape, x.shape()) == x.shape(), "sum_to_shape",
          "shape must broadcast to ", x.shape(), ", got ", shape);
  const index_t lead = x.rank() - shape.size();
  Axes repeated;
  for (index_t i = 0; i < x.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) repeated.push_back(i);
  }
  return reduce_floating(ReduceOp::kSum, x, repeated, true).reshape(shape);
}

}  // namespace tessera::detail
