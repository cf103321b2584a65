#include "tensor/ops/layer_norm.h"

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/map.h"
#include "tensor/ops/reduce.h"
#include "tensor/rows.h"

namespace tessera {

namespace {

/// What one element costs, in elementary operations: three passes over the row.
constexpr index_t kCost = 4;

/// The last `shape.size()` axes of x, which must have these sizes.
Axes normalized_axes(const Tensor& x, const Shape& shape) {
  const index_t lead = x.rank() - shape.size();
  bool fits = !shape.empty() && lead >= 0;
  Axes axes;
  for (index_t i = 0; fits && i < shape.size(); ++i) {
    fits = x.shape()[lead + i] == shape[i];
    axes.push_back(lead + i);
  }
  require(fits, "layer_norm", "x of shape ", x.shape(), " does not end in ", shape);
  return axes;
}

/// weight or bias as a contiguous tensor, or undefined.
Tensor check_parameter(const char* what, const Tensor& parameter, const Tensor& x,
                       const Shape& shape) {
  if (!parameter.defined()) return parameter;
  require(parameter.dtype() == x.dtype(), "layer_norm", what, " is ", parameter.dtype(),
          ", but x is ", x.dtype());
  require(parameter.shape() == shape, "layer_norm", what, " of shape ", parameter.shape(),
          " does not fit the normalized shape ", shape);
  return parameter.contiguous();
}

template <class T>
const T* data_or_null(const Tensor& parameter) {
  return parameter.defined() ? parameter.data<T>() : nullptr;
}

/// The gradients of n weight + bias, where n = (x - mean) rstd, in the order (x, weight, bias).
///
///     dx = rstd (dn - mean(dn) - n mean(dn n)),   dn = dy weight
///
/// n is computed again: that is cheaper than to keep it, and exact where x - mean would not be.
void layer_norm_backward(const Tensor& x, const Axes& axes, const Shape& shape,
                         const Tensor& weight, const Tensor& rstd, double eps, const Tensor& dy,
                         Gradients& dx) {
  dx.add(2, dy);
  if (!dx.wanted(0) && !dx.wanted(1)) return;
  const Tensor n = layer_norm(x, shape, {}, {}, eps);
  if (dx.wanted(1)) dx.add(1, dy * n);
  if (!dx.wanted(0)) return;
  const Tensor dn = weight.defined() ? dy * weight : dy;
  const Tensor along = mean(dn * n, axes, true);
  const Tensor scale = rstd.reshape(reduced_shape(x.shape(), axes, true));
  dx.add(0, scale * (dn - mean(dn, axes, true) - n * along));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  require(x.defined() && is_floating(x.dtype()), "layer_norm", "needs a float32 or float64 tensor",
          x.defined() ? format(", not ", x.dtype()) : "");
  const Axes axes = normalized_axes(x, normalized_shape);
  Recording op("layer_norm", {&x, &weight, &bias});
  const Tensor scale = check_parameter("weight", weight, x, normalized_shape);
  const Tensor shift = check_parameter("bias", bias, x, normalized_shape);
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const Tensor rows = detail::as_rows(x, axes);
  Tensor rstd = op ? Tensor::empty({rows.size(0)}, x.dtype()) : Tensor();
  detail::visit_floating(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const kernels::LayerNormArgs<T> all = {
        .rows = rows.size(0),
        .n = rows.size(1),
        .x = rows.data<T>(),
        .x_row = rows.strides()[0],
        .weight = data_or_null<T>(scale),
        .bias = data_or_null<T>(shift),
        .eps = static_cast<T>(eps),
        .y = result.mutable_data<T>(),
        .y_row = rows.size(1),
        .rstd = rstd.defined() ? rstd.mutable_data<T>() : nullptr,
    };
    const auto kernel = kernels::table().of<T>().layer_norm;
    if (result.count() == 0) return;
    kernels::parallel_for(all.rows, kCost * all.n, [&](index_t begin, index_t end) {
      kernels::LayerNormArgs<T> piece = all;
      piece.rows = end - begin;
      piece.x += begin * all.x_row;
      piece.y += begin * all.y_row;
      if (all.rstd != nullptr) piece.rstd += begin;
      kernel(piece);
    });
  });
  return op.finish(result, [&] {
    return [=, shape = normalized_shape](const Tensor& dy, Gradients& dx) {
      layer_norm_backward(x, axes, shape, weight, rstd, eps, dy, dx);
    };
  });
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor& parameter = weight.defined() ? weight : bias;
  Shape shape = parameter.shape();
  if (!parameter.defined() && x.rank() > 0) shape.push_back(x.size(-1));
  return layer_norm(x, shape, weight, bias, eps);
}

}  // namespace tessera
