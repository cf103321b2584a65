#include "tensor/ops/layer_norm.h"

#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/map.h"
#include "tensor/ops/rows.h"

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

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  require(x.defined() && is_floating(x.dtype()), "layer_norm", "needs a float32 or float64 tensor",
          x.defined() ? format(", not ", x.dtype()) : "");
  const Axes axes = normalized_axes(x, normalized_shape);
  const Tensor scale = check_parameter("weight", weight, x, normalized_shape);
  const Tensor shift = check_parameter("bias", bias, x, normalized_shape);
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  if (result.count() == 0) return result;
  const Tensor rows = detail::as_rows(x, axes);
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
    };
    const auto kernel = kernels::table().of<T>().layer_norm;
    kernels::parallel_for(all.rows, kCost * all.n, [&](index_t begin, index_t end) {
      kernels::LayerNormArgs<T> piece = all;
      piece.rows = end - begin;
      piece.x += begin * all.x_row;
      piece.y += begin * all.y_row;
      kernel(piece);
    });
  });
  return result;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor& parameter = weight.defined() ? weight : bias;
  Shape shape = parameter.shape();
  if (!parameter.defined() && x.rank() > 0) shape.push_back(x.size(-1));
  return layer_norm(x, shape, weight, bias, eps);
}

}  // namespace tessera
