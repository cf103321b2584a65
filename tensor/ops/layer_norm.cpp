#include "tessera/tensor/ops/layer_norm.h"

#include <algorithm>
#include <utility>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

namespace {

using detail::data_or_null;

/// The cost of one element, in elementary operations: three passes over the row.
constexpr index_t kLayerNormCost = 4;

/// The two norms, which differ in whether a row's mean is subtracted.
struct Norm {
  const char* op;
  bool centres;
};

constexpr Norm kLayerNorm = {"layer_norm", true};
constexpr Norm kRMSNorm = {"rms_norm", false};

/// The last `shape.size()` axes of x, which must have these sizes.
Axes normalized_axes(const char* op, const Tensor& x, const Shape& shape) {
  const index_t lead = x.rank() - shape.size();
  bool fits = !shape.empty() && lead >= 0;
  Axes axes;
  for (index_t i = 0; fits && i < shape.size(); ++i) {
    fits = x.shape()[lead + i] == shape[i];
    axes.push_back(lead + i);
  }
  require(fits, op, "x must have a shape that ends in ", shape, ", got ", x.shape());
  return axes;
}

/// weight or bias as a contiguous tensor, or undefined.
Tensor check_parameter(const char* op, const char* what, const Tensor& parameter, const Tensor& x,
                       const Shape& shape) {
  if (!parameter.defined()) return parameter;
  require(parameter.dtype() == x.dtype(), op, what, " must be ", x.dtype(), " like x, got ",
          parameter.dtype());
  require(parameter.shape() == shape, op, what, " must have shape ", shape, ", got ",
          parameter.shape());
  return parameter.contiguous();
}

/// The tensors that the backward reads: x in rows, and each row's statistics; for RMS norm only
/// `rstd`.
struct NormSaved {
  bool centres;
  Saved rows, weight;
  Tensor mean = {}, rstd = {}, shift = {};
};

/// The rows whose part of the gradients of weight and bias is summed in one chain. The number does
/// not depend on the threads, so neither do the bits.
index_t rows_per_block(index_t n) {
  constexpr index_t kElements = 131072;
  return std::clamp<index_t>(kElements / std::max<index_t>(n, 1), 1, 32);
}

index_t block_count(index_t rows, index_t n) {
  const index_t per_block = rows_per_block(n);
  return (rows + per_block - 1) / per_block;
}

/// Rows [block * per_block, ...) of `args`, with their own rows for the sums.
template <class T>
kernels::LayerNormGradientArgs<T> block_of(kernels::LayerNormGradientArgs<T> args, index_t block,
                                           index_t per_block) {
  const index_t begin = block * per_block;
  args.rows = std::min(per_block, args.rows - begin);
  args.s += begin * args.s_row;
  args.dy += begin * args.dy_row;
  args.rstd += begin;
  if (args.centres) {
    args.mean += begin;
    args.shift += begin;
  }
  if (args.added != nullptr) args.added += begin * args.added_row;
  if (args.ds != nullptr) args.ds += begin * args.ds_row;
  if (args.dweight != nullptr) args.dweight += block * args.n;
  if (args.dbias != nullptr) args.dbias += block * args.n;
  return args;
}

/// Computes the gradient with regard to x into `ds`, with `added`, and the sums for weight and bias
/// (2, blocks, n), as far as these are defined.
template <class T>
void run_gradient(const NormSaved& saved, const Tensor& x, const Tensor& weight, const Tensor& dy,
                  const Tensor& added, Tensor& ds, Tensor& sums) {
  kernels::LayerNormGradientArgs<T> all = {.rows = x.size(0),
                                           .n = x.size(1),
                                           .centres = saved.centres,
                                           .s = x.data<T>(),
                                           .s_row = x.strides()[0],
                                           .dy = dy.data<T>(),
                                           .dy_row = dy.strides()[0]};
  all.weight = data_or_null<T>(weight);
  all.mean = data_or_null<T>(saved.mean);
  all.rstd = saved.rstd.data<T>();
  all.shift = data_or_null<T>(saved.shift);
  if (added.defined()) {
    all.added = added.data<T>();
    all.added_row = added.strides()[0];
  }
  if (ds.defined()) {
    all.ds = ds.mutable_data<T>();
    all.ds_row = all.n;
  }
  const index_t per_block = rows_per_block(all.n);
  const index_t blocks = block_count(all.rows, all.n);
  if (sums.defined()) {
    all.dweight = sums.mutable_data<T>();
    all.dbias = all.dweight + blocks * all.n;
  }
  const auto kernel = kernels::table<T>().layer_norm_gradient;
  kernels::parallel_for(blocks, 2 * kLayerNormCost * all.n * per_block,
                        [&](index_t begin, index_t end) {
                          for (index_t block = begin; block < end; ++block)
                            kernel(block_of(all, block, per_block));
                        });
}

/// The gradients with regard to x, weight and bias; kernels/layer_norm.h has the formulas.
void norm_backward(const NormSaved& saved, const Axes& axes, const Shape& shape, const Tensor& dy,
                   Gradients& dx) {
  const Tensor& x = saved.rows;  // before a leaf's gradient is taken, because this may throw
  const Tensor& weight = saved.weight;
  const Tensor gradients = detail::as_rows(dy, axes);
  const index_t n = gradients.size(1);
  Tensor ds, added, sums;
  if (dx.needs_gradient(0)) {
    added = dx.take(0);
    if (added.defined()) added = detail::as_rows(added, axes);
    ds = added.defined() && is_own(added) ? added : Tensor::empty(gradients.shape(), dy.dtype());
  }
  if (dx.needs_gradient(1) || dx.needs_gradient(2)) {
    sums = Tensor::empty({2, block_count(gradients.size(0), n), n}, dy.dtype());
  }
  visit_floating(dy.dtype(), [&](auto kind) {
    run_gradient<decltype(kind)>(saved, x, weight, gradients, added, ds, sums);
  });
  added = Tensor();
  if (ds.defined()) ds = ds.reshape(dy.shape());
  if (dx.needs_gradient(0)) dx.add(0, std::move(ds));
  const auto total = [&](index_t which) {
    const Tensor sum = detail::reduce_floating(kernels::ReduceOp::kSum, sums.select(0, which), {0},
                                               /*keepdim=*/false);
    return sum.reshape(shape);
  };
  if (dx.needs_gradient(1)) dx.add(1, total(0));
  if (dx.needs_gradient(2)) dx.add(2, total(1));
}

/// The forward pass over `rows`; fills the statistics of `saved` that are defined.
template <class T>
void run(const Tensor& rows, const Tensor& weight, const Tensor& bias, double eps, Tensor& y,
         NormSaved& saved) {
  kernels::LayerNormArgs<T> all = {.rows = rows.size(0),
                                   .n = rows.size(1),
                                   .centres = saved.centres,
                                   .x = rows.data<T>(),
                                   .x_row = rows.strides()[0],
                                   .weight = data_or_null<T>(weight),
                                   .bias = data_or_null<T>(bias),
                                   .eps = static_cast<T>(eps),
                                   .y = y.mutable_data<T>(),
                                   .y_row = rows.size(1)};
  if (saved.mean.defined()) all.mean = saved.mean.mutable_data<T>();
  if (saved.rstd.defined()) all.rstd = saved.rstd.mutable_data<T>();
  if (saved.shift.defined()) all.shift = saved.shift.mutable_data<T>();
  const auto kernel = kernels::table<T>().layer_norm;
  kernels::parallel_for(all.rows, kLayerNormCost * all.n, [&](index_t begin, index_t end) {
    kernels::LayerNormArgs<T> piece = all;
    piece.rows = end - begin;
    piece.x += begin * all.x_row;
    piece.y += begin * all.y_row;
    if (all.mean != nullptr) piece.mean += begin;
    if (all.rstd != nullptr) piece.rstd += begin;
    if (all.shift != nullptr) piece.shift += begin;
    kernel(piece);
  });
}

Tensor normalize(const Norm& norm, const Tensor& x, const Shape& normalized_shape,
                 const Tensor& weight, const Tensor& bias, double eps) {
  require(x.defined(), norm.op, "x must be float32 or float64, got an undefined tensor");
  require(is_floating(x.dtype()), norm.op, "x must be float32 or float64, got ", x.dtype());
  require(eps >= 0, norm.op, "eps must be at least 0, got ", eps);
  const Axes axes = normalized_axes(norm.op, x, normalized_shape);
  Recording op(norm.op, {&x, &weight, &bias});
  const Tensor scale = check_parameter(norm.op, "weight", weight, x, normalized_shape);
  const Tensor offset = check_parameter(norm.op, "bias", bias, x, normalized_shape);
  Tensor result = Tensor::empty(x.shape(), x.dtype());
  const Tensor rows = detail::as_rows(x, axes);
  NormSaved saved = {.centres = norm.centres, .rows = {}, .weight = {}};
  const auto keep = [&](Tensor& each) { each = Tensor::empty({rows.size(0)}, x.dtype()); };
  if (op) keep(saved.rstd);
  if (op && norm.centres) {
    keep(saved.mean);
    keep(saved.shift);
  }
  if (result.count() > 0) {
    visit_floating(x.dtype(), [&](auto kind) {
      run<decltype(kind)>(rows, scale, offset, eps, result, saved);
    });
  }
  return op.finish(result, [&] {
    saved.rows = op.save(rows);
    saved.weight = op.save(scale);
    return [saved, axes, shape = normalized_shape](const Tensor& dy, Gradients& dx) {
      norm_backward(saved, axes, shape, dy, dx);
    };
  });
}

/// The shape of the parameter if it is defined, otherwise x's last axis.
Shape shape_of(const Tensor& x, const Tensor& parameter) {
  Shape shape = parameter.shape();
  if (!parameter.defined() && x.rank() > 0) shape.push_back(x.size(-1));
  return shape;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  return normalize(kLayerNorm, x, normalized_shape, weight, bias, eps);
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return layer_norm(x, shape_of(x, weight.defined() ? weight : bias), weight, bias, eps);
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, double eps) {
  return normalize(kRMSNorm, x, normalized_shape, weight, Tensor(), eps);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return rms_norm(x, shape_of(x, weight), weight, eps);
}

}  // namespace tessera
