#include "tessera/tensor/ops/softmax.h"

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

namespace {

/// The cost of one exp, in elementary operations.
constexpr index_t kSoftmaxCost = 8;

/// x in the dtype in which softmax is computed.
Tensor check(const char* op, const Tensor& x) {
  detail::require_defined(op, x);
  return x.to(floating(x.dtype()));
}

/// Applies the kernel that `pick` selects from a table, which maps rows to rows, along the axes of
/// x.
template <class Pick>
Tensor map_rows(const char* op, const Tensor& input, const Axes& wanted, const Pick& pick) {
  const Tensor x = check(op, input);
  const Axes axes = normalize_axes(op, wanted, x.rank());
  if (x.count() == 0) return Tensor::empty(x.shape(), x.dtype());
  const Tensor rows = detail::as_rows(x, axes);
  Tensor result = Tensor::empty(rows.shape(), x.dtype());
  const index_t n = rows.size(1);
  visit_floating(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto kernel = pick(kernels::table<T>());
    const index_t step = rows.strides()[0];
    const T* from = rows.data<T>();
    T* to = result.mutable_data<T>();
    kernels::parallel_for(rows.size(0), kSoftmaxCost * n, [&](index_t begin, index_t end) {
      kernel(end - begin, n, from + begin * step, step, to + begin * n, n);
    });
  });
  return detail::from_rows(result, x.shape(), axes);
}

/// The gradient of the op with result y, by the kernel that `pick` selects from a table.
template <class Pick>
Tensor rows_gradient(const Tensor& y, const Tensor& dy, const Axes& wanted, const Pick& pick) {
  const Axes axes = normalize_axes("softmax", wanted, y.rank());
  if (y.count() == 0) return Tensor::empty(y.shape(), y.dtype());
  const Tensor results = detail::as_rows(y, axes);
  const Tensor gradients = detail::as_rows(dy, axes);
  Tensor dx = Tensor::empty(results.shape(), y.dtype());
  const index_t n = results.size(1);
  visit_floating(y.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto kernel = pick(kernels::table<T>());
    const index_t y_row = results.strides()[0];
    const index_t dy_row = gradients.strides()[0];
    const T* from = results.data<T>();
    const T* dfrom = gradients.data<T>();
    T* to = dx.mutable_data<T>();
    kernels::parallel_for(results.size(0), kSoftmaxCost * n, [&](index_t begin, index_t end) {
      kernel(end - begin, n, from + begin * y_row, y_row, dfrom + begin * dy_row, dy_row,
             to + begin * n);
    });
  });
  return detail::from_rows(dx, y.shape(), axes);
}

}  // namespace

Tensor softmax(const Tensor& x, const Axes& axes) {
  Recording op("softmax", {&x});
  const Tensor y = map_rows("softmax", x, axes, [](const auto& table) { return table.softmax; });
  return op.finish(y, [&] {
    return [y = op.save(y), axes](const Tensor& dy, Gradients& dx) {
      dx.add(0, rows_gradient(y, dy, axes, [](const auto& t) { return t.softmax_gradient; }));
    };
  });
}

Tensor log_softmax(const Tensor& x, const Axes& axes) {
  Recording op("log_softmax", {&x});
  const Tensor y =
      map_rows("log_softmax", x, axes, [](const auto& table) { return table.log_softmax; });
  return op.finish(y, [&] {
    return [y = op.save(y), axes](const Tensor& dy, Gradients& dx) {
      dx.add(0, rows_gradient(y, dy, axes, [](const auto& t) { return t.log_softmax_gradient; }));
    };
  });
}

Tensor logsumexp(const Tensor& input, const Axes& wanted, bool keepdim) {
  Recording op("logsumexp", {&input});
  const Tensor x = check("logsumexp", input);
  const Axes axes = normalize_axes("logsumexp", wanted, x.rank());
  const Tensor rows = detail::as_rows(x, axes);
  Tensor result = Tensor::empty(reduced_shape(x.shape(), axes, keepdim), x.dtype());
  visit_floating(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto& table = kernels::table<T>();
    const index_t step = rows.strides()[0];
    const T* from = rows.data<T>();
    T* to = result.mutable_data<T>();
    kernels::parallel_for(
        rows.size(0), kSoftmaxCost * rows.size(1), [&](index_t begin, index_t end) {
          table.logsumexp(end - begin, rows.size(1), from + begin * step, step, to + begin);
        });
  });
  return op.finish(result, [&] {
    return [x = op.save(x), axes](const Tensor& dy, Gradients& dx) {
      dx.add(0, softmax(x, axes) * dy.reshape(reduced_shape(x.get().shape(), axes, true)));
    };
  });
}

}  // namespace tessera
