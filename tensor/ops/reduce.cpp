#include "tensor/ops/reduce.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tensor/kernels/dispatch.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/map.h"
#include "tensor/ops/unary.h"

namespace tessera {

namespace {

using detail::reduce_rows;
using detail::Row;
using kernels::ReduceOp;

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
  // Where neighbours in memory belong to different results, whole vectors of results are computed
  // at a time.
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

/// reduce_last with long rows cut into blocks. The kernels come from outside: to ask for them
/// throws where TESSERA_ISA is wrong, which no body of a parallel loop may.
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

/// `x` is floating.
Tensor reduce_floating(ReduceOp op, const Tensor& x, const Axes& axes, bool keepdim) {
  Tensor result = Tensor::empty(reduced_shape(x.shape(), axes, keepdim), x.dtype());
  if (result.count() == 0) return result;
  const Tensor merged = detail::merge_last(x, axes);
  detail::visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    reduce_blocks(kernels::table().of<T>(), op, merged, result.mutable_data<T>());
  });
  return result;
}

/// `f` of each row of the elements of `x`, as integers, that are reduced.
template <class F>
Tensor reduce_integers(const Tensor& x, const Axes& axes, bool keepdim, const F& f) {
  return reduce_rows<index_t, index_t>(detail::merge_last(x.to(kInt64), axes),
                                       reduced_shape(x.shape(), axes, keepdim), f);
}

/// How many elements are reduced to one.
index_t reduced_count(const Tensor& x, const Axes& axes) {
  index_t count = 1;
  for (index_t axis : axes) count *= x.shape()[axis];
  return count;
}

/// normalize_axes, for the ops that choose one of the elements along them.
Axes choice_axes(const char* op, const Tensor& x, const Axes& axes) {
  detail::require_defined(op, x);
  const Axes normal = normalize_axes(op, axes, x.rank());
  require(reduced_count(x, normal) > 0, op, "no element to choose from along axes ", normal,
          " of shape ", x.shape());
  return normal;
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("sum", x);
  const Axes normal = normalize_axes("sum", axes, x.rank());
  if (is_floating(x.dtype())) return reduce_floating(ReduceOp::kSum, x, normal, keepdim);
  return reduce_integers(x, normal, keepdim, [](Row<index_t> row, index_t n) {
    std::uint64_t total = 0;
    for (index_t i = 0; i < n; ++i) total += static_cast<std::uint64_t>(row[i]);
    return static_cast<index_t>(total);
  });
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("mean", x);
  const Axes normal = normalize_axes("mean", axes, x.rank());
  const Tensor total =
      reduce_floating(ReduceOp::kSum, x.to(detail::floating(x.dtype())), normal, keepdim);
  return div(total, reduced_count(x, normal));
}

Tensor max(const Tensor& x, const Axes& axes, bool keepdim) {
  const Axes normal = choice_axes("max", x, axes);
  if (is_floating(x.dtype())) return reduce_floating(ReduceOp::kMax, x, normal, keepdim);
  return reduce_integers(x, normal, keepdim,
                         [](Row<index_t> row, index_t n) {
                           index_t best = row[0];
                           for (index_t i = 1; i < n; ++i) best = std::max(best, row[i]);
                           return best;
                         })
      .to(x.dtype());
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdim) {
  const Axes normal = choice_axes("min", x, axes);
  if (is_floating(x.dtype())) return reduce_floating(ReduceOp::kMin, x, normal, keepdim);
  return reduce_integers(x, normal, keepdim,
                         [](Row<index_t> row, index_t n) {
                           index_t best = row[0];
                           for (index_t i = 1; i < n; ++i) best = std::min(best, row[i]);
                           return best;
                         })
      .to(x.dtype());
}

Tensor argmax(const Tensor& x, const Axes& axes, bool keepdim) {
  const Axes normal = choice_axes("argmax", x, axes);
  if (!is_floating(x.dtype())) {
    return reduce_integers(x, normal, keepdim, [](Row<index_t> row, index_t n) {
      index_t best = 0;
      for (index_t i = 1; i < n; ++i) best = row[i] > row[best] ? i : best;
      return best;
    });
  }
  return detail::visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table().of<T>().argmax;
    return reduce_rows<index_t, T>(
        detail::merge_last(x, normal), reduced_shape(x.shape(), normal, keepdim),
        [&](Row<T> row, index_t n) { return kernel(n, row.first, row.step); });
  });
}

Tensor var(const Tensor& x, const Axes& axes, bool keepdim, index_t correction) {
  detail::require_defined("var", x);
  const Axes normal = normalize_axes("var", axes, x.rank());
  const Tensor deviations = reduce_floating(ReduceOp::kSquaredDeviations,
                                            x.to(detail::floating(x.dtype())), normal, keepdim);
  return div(deviations, std::max<index_t>(reduced_count(x, normal) - correction, 0));
}

Tensor std_dev(const Tensor& x, const Axes& axes, bool keepdim, index_t correction) {
  detail::require_defined("std_dev", x);
  const Axes normal = normalize_axes("std_dev", axes, x.rank());
  return sqrt(var(x, normal, keepdim, correction));
}

Tensor norm(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("norm", x);
  const Axes normal = normalize_axes("norm", axes, x.rank());
  return sqrt(sum(square(x.to(detail::floating(x.dtype()))), normal, keepdim));
}

namespace {

/// Running sums in Sum along the last axis of both.
template <class T, class Sum>
void accumulate(const Tensor& x, Tensor out) {
  const index_t n = x.size(-1);
  const auto outer = [](const Dims& dims) { return reduced_shape(dims, {dims.size() - 1}, false); };
  const auto plan = plan_loop<2>(outer(x.shape()), {outer(out.strides()), outer(x.strides())});
  const T* const in = x.data<T>();
  T* const to = out.mutable_data<T>();
  const index_t in_step = x.strides().back();
  const index_t out_step = out.strides().back();
  for_each_row(plan, n, [&](const std::array<index_t, 2>& offsets, index_t count) {
    for (index_t line = 0; line < count; ++line) {
      const T* from = in + offsets[1] + line * plan.strides[1].back();
      T* y = to + offsets[0] + line * plan.strides[0].back();
      Sum total{};
      for (index_t i = 0; i < n; ++i) {
        total += static_cast<Sum>(from[i * in_step]);
        y[i * out_step] = static_cast<T>(total);
      }
    }
  });
}

}  // namespace

Tensor cumsum(const Tensor& x, index_t axis) {
  detail::require_defined("cumsum", x);
  const index_t a = normalize_axis("cumsum", axis, x.rank());
  const Tensor input = is_floating(x.dtype()) ? x : x.to(kInt64);
  Tensor result = Tensor::empty(x.shape(), input.dtype());
  if (result.count() == 0) return result;
  const Tensor from = input.transpose(a, -1);
  const Tensor to = result.transpose(a, -1);
  if (input.dtype() == kInt64) {
    accumulate<index_t, std::uint64_t>(from, to);
  } else if (input.dtype() == kFloat32) {
    accumulate<float, double>(from, to);
  } else {
    accumulate<double, double>(from, to);
  }
  return result;
}

}  // namespace tessera
