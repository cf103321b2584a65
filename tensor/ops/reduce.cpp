#include "tessera/tensor/ops/reduce.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/detail/map.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera {

namespace {

using detail::reduce_floating;
using detail::reduce_rows;
using detail::Row;
using kernels::ReduceOp;

/// `f` of each row of reduced elements of `x`, which are integers or bools.
template <class F>
Tensor reduce_integers(const Tensor& x, const Axes& axes, bool keepdim, const F& f) {
  const Tensor rows = detail::merge_last(x, axes);
  const Shape shape = reduced_shape(x.shape(), axes, keepdim);
  return x.dtype() == kBool ? reduce_rows<index_t, bool>(rows, shape, f)
                            : reduce_rows<index_t, index_t>(rows, shape, f);
}

/// The number of elements that are reduced to one.
index_t reduced_count(const Tensor& x, const Axes& axes) {
  index_t count = 1;
  for (index_t axis : axes) count *= x.shape()[axis];
  return count;
}

/// normalize_axes, for the ops that select one of the elements along the axes.
Axes choice_axes(const char* op, const Tensor& x, const Axes& axes) {
  detail::require_defined(op, x);
  const Axes normal = normalize_axes(op, axes, x.rank());
  require(reduced_count(x, normal) > 0, op, "x must have elements along axes ", normal,
          ", got shape ", x.shape());
  return normal;
}

/// A reduction's result, or its gradient, expanded to the shape `shape` of the reduced elements:
/// repeated along `axes` (normalized).
Tensor spread(const Tensor& y, const Shape& shape, const Axes& axes) {
  return y.reshape(reduced_shape(shape, axes, true)).expand(shape);
}

/// The largest or smallest element; equal elements share the gradient.
Tensor extreme(const char* op, ReduceOp kind, const Tensor& x, const Axes& axes, bool keepdim) {
  const Axes normal = choice_axes(op, x, axes);
  if (!is_floating(x.dtype())) {
    const auto best_of = [kind](auto row, index_t n) {
      index_t best = row[0];
      for (index_t i = 1; i < n; ++i) {
        const index_t next = row[i];
        best = kind == ReduceOp::kMax ? std::max(best, next) : std::min(best, next);
      }
      return best;
    };
    return reduce_integers(x, normal, keepdim, best_of).to(x.dtype());
  }
  Recording recording(op, {&x});
  const Tensor y = reduce_floating(kind, x, normal, keepdim);
  return recording.finish(y, [&] {
    return [x = recording.save(x), y = recording.save(y), normal](const Tensor& dy, Gradients& dx) {
      const Shape& shape = x.get().shape();
      const Tensor chosen = eq(x, spread(y, shape, normal)).to(dy.dtype());
      const Tensor share = spread(dy, shape, normal) / sum(chosen, normal, true);
      dx.add(0, where(ne(chosen, 0), share, 0));
    };
  });
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("sum", x);
  const Axes normal = normalize_axes("sum", axes, x.rank());
  if (is_floating(x.dtype())) {
    Recording op("sum", {&x});
    return op.finish(reduce_floating(ReduceOp::kSum, x, normal, keepdim), [&] {
      return [shape = x.shape(), normal](const Tensor& dy, Gradients& dx) {
        dx.add(0, spread(dy, shape, normal));
      };
    });
  }
  return reduce_integers(x, normal, keepdim, [](auto row, index_t n) {
    std::uint64_t total = 0;
    for (index_t i = 0; i < n; ++i) total += static_cast<std::uint64_t>(row[i]);
    return static_cast<index_t>(total);
  });
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("mean", x);
  const Axes normal = normalize_axes("mean", axes, x.rank());
  return div(sum(x.to(floating(x.dtype())), normal, keepdim), reduced_count(x, normal));
}

Tensor max(const Tensor& x, const Axes& axes, bool keepdim) {
  return extreme("max", ReduceOp::kMax, x, axes, keepdim);
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdim) {
  return extreme("min", ReduceOp::kMin, x, axes, keepdim);
}

Tensor argmax(const Tensor& input, const Axes& axes, bool keepdim) {
  const Tensor x = input.detach();  // the position has no gradient
  const Axes normal = choice_axes("argmax", x, axes);
  if (!is_floating(x.dtype())) {
    return reduce_integers(x, normal, keepdim, [](auto row, index_t n) {
      index_t best = 0;
      for (index_t i = 1; i < n; ++i) best = row[i] > row[best] ? i : best;
      return best;
    });
  }
  return visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table<T>().argmax;
    return reduce_rows<index_t, T>(
        detail::merge_last(x, normal), reduced_shape(x.shape(), normal, keepdim),
        [&](Row<T> row, index_t n) { return kernel(n, row.first, row.step); });
  });
}

Tensor argmin(const Tensor& input, const Axes& axes, bool keepdim) {
  const Tensor x = input.detach();
  const Axes normal = choice_axes("argmin", x, axes);
  if (is_floating(x.dtype())) return argmax(neg(x), normal, keepdim);
  return reduce_integers(x, normal, keepdim, [](auto row, index_t n) {
    index_t best = 0;
    for (index_t i = 1; i < n; ++i) best = row[i] < row[best] ? i : best;
    return best;
  });
}

namespace {

/// The product of a row. As in a sum, element k goes into partial product k mod 16: sixteen
/// independent chains, and the same bits for any way to compute them.
template <class T>
T product(Row<T> row, index_t n) {
  std::array<double, kVirtualLanes> partial;
  partial.fill(1);
  index_t i = 0;
  for (; i + kVirtualLanes <= n; i += kVirtualLanes) {
    for (index_t lane = 0; lane < kVirtualLanes; ++lane) {
      partial[static_cast<std::size_t>(lane)] *= static_cast<double>(row[i + lane]);
    }
  }
  for (index_t lane = 0; i < n; ++i, ++lane) {
    partial[static_cast<std::size_t>(lane)] *= static_cast<double>(row[i]);
  }
  double total = 1;
  for (double each : partial) total *= each;
  return static_cast<T>(total);
}

/// out[i] = dy times the product of all x[0], ..., x[n - 1] except x[i]: the product of the
/// elements before times the product of those after. There is no division, so zeros are allowed.
template <class T>
void products_of_others(index_t n, const T* x, T dy, double* after, T* out) {
  double product = static_cast<double>(dy);
  for (index_t i = n - 1; i >= 0; --i) {
    after[i] = product;
    product *= static_cast<double>(x[i]);
  }
  product = 1;
  for (index_t i = 0; i < n; ++i) {
    out[i] = static_cast<T>(product * after[i]);
    product *= static_cast<double>(x[i]);
  }
}

/// The gradient of prod over `axes` (normalized).
Tensor prod_gradient(const Tensor& x, const Tensor& dy, const Axes& axes) {
  const Tensor rows = detail::as_rows(x, axes);
  const Tensor slopes = dy.contiguous();
  Tensor result = Tensor::empty({rows.size(0), rows.size(1)}, x.dtype());
  Tensor after = Tensor::empty({rows.size(0), rows.size(1)}, kFloat64);
  const index_t n = rows.size(1);
  visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const T* const from = rows.data<T>();
    const T* const slope = slopes.data<T>();
    const index_t row_stride = rows.strides()[0];
    double* const scratch = after.mutable_data<double>();
    T* const out = result.mutable_data<T>();
    kernels::parallel_for(rows.size(0), 2 * n, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row) {
        products_of_others(n, from + row * row_stride, slope[row], scratch + row * n,
                           out + row * n);
      }
    });
  });
  return detail::from_rows(result, x.shape(), axes);
}

}  // namespace

Tensor prod(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("prod", x);
  const Axes normal = normalize_axes("prod", axes, x.rank());
  if (!is_floating(x.dtype())) {
    return reduce_integers(x, normal, keepdim, [](auto row, index_t n) {
      std::uint64_t total = 1;
      for (index_t i = 0; i < n; ++i) total *= static_cast<std::uint64_t>(row[i]);
      return static_cast<index_t>(total);
    });
  }
  Recording op("prod", {&x});
  const Tensor y = visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    return reduce_rows<T, T>(detail::merge_last(x, normal),
                             reduced_shape(x.shape(), normal, keepdim), product<T>);
  });
  return op.finish(y, [&] {
    return [x = op.save(x), normal](const Tensor& dy, Gradients& dx) {
      dx.add(0, prod_gradient(x, dy, normal));
    };
  });
}

Tensor var(const Tensor& x, const Axes& axes, bool keepdim, index_t correction) {
  detail::require_defined("var", x);
  const Axes normal = normalize_axes("var", axes, x.rank());
  const double n = std::max(
      static_cast<double>(reduced_count(x, normal)) - static_cast<double>(correction), 0.0);
  Recording op("var", {&x});
  const Tensor values = x.to(floating(x.dtype()));
  const Tensor deviations = reduce_floating(ReduceOp::kSquaredDeviations, values, normal, keepdim);
  return op.finish(div(deviations, n), [&] {
    return [values = op.save(values), normal, n](const Tensor& dy, Gradients& dx) {
      const Tensor deviation = values - mean(values, normal, true);
      dx.add(0, spread(dy, deviation.shape(), normal) * (deviation * (2 / n)));
    };
  });
}

Tensor std_dev(const Tensor& x, const Axes& axes, bool keepdim, index_t correction) {
  detail::require_defined("std_dev", x);
  const Axes normal = normalize_axes("std_dev", axes, x.rank());
  return sqrt(var(x, normal, keepdim, correction));
}

Tensor norm(const Tensor& x, const Axes& axes, bool keepdim) {
  detail::require_defined("norm", x);
  const Axes normal = normalize_axes("norm", axes, x.rank());
  Recording op("norm", {&x});
  const Tensor values = x.to(floating(x.dtype()));
  const Tensor y = sqrt(sum(square(values), normal, keepdim));
  return op.finish(y, [&] {
    return [values = op.save(values), y = op.save(y), normal](const Tensor& dy, Gradients& dx) {
      const Tensor share = where(eq(y, 0), 0, dy / y);  // at 0, the smallest subgradient
      dx.add(0, spread(share, values.get().shape(), normal) * values);
    };
  });
}

namespace {

/// The running sums, in type Sum, along the last axis of both.
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
  Recording op("cumsum", {&x});
  const Tensor input = is_floating(x.dtype()) ? x : x.to(kInt64);
  Tensor result = Tensor::empty(x.shape(), input.dtype());
  const Tensor from = input.transpose(a, -1);
  const Tensor to = result.transpose(a, -1);
  if (result.count() == 0) {
    // nothing to add
  } else if (is_floating(input.dtype())) {
    visit_floating(input.dtype(), [&](auto kind) { accumulate<decltype(kind), double>(from, to); });
  } else {
    accumulate<index_t, std::uint64_t>(from, to);
  }
  return op.finish(result, [&] {
    return [a](const Tensor& dy, Gradients& dx) {  // each x is in all sums from its own on
      dx.add(0, cumsum(dy.slice(a, {}, {}, -1), a).slice(a, {}, {}, -1));
    };
  });
}

// ---- similarity ----

Tensor cosine_similarity(const Tensor& a, const Tensor& b, index_t axis, double eps) {
  detail::require_defined("cosine_similarity", a);
  detail::require_defined("cosine_similarity", b);
  require(eps >= 0, "cosine_similarity", "eps must be at least 0, got ", eps);
  const Shape shape = broadcast_shapes("cosine_similarity", a.shape(), b.shape());
  const index_t along = normalize_axis("cosine_similarity", axis, shape.size());
  const DType dtype = floating(promote(a.dtype(), b.dtype()));
  const auto unit = [&](const Tensor& x) {
    const Tensor vectors = x.to(dtype).expand(shape);
    return vectors / maximum(norm(vectors, {along}, true), eps);
  };
  return sum(unit(a) * unit(b), {along});
}

}  // namespace tessera
