#include "tessera/tensor/ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera {

namespace {

constexpr const char* kDropoutOp = "dropout";

template <class T>
void run(const Tensor& x, const kernels::Dropout& mask, const Tensor& residual, Tensor& y) {
  constexpr index_t kCost = 2 * kernels::kDropoutGroup;  // of a group
  const kernels::DropoutArgs<T> all = {
      .n = x.count(),
      .x = x.data<T>(),
      .residual = residual.defined() ? residual.data<T>() : nullptr,
      .y = y.mutable_data<T>(),
      .mask = mask,
  };
  const auto& kernel = kernels::table<T>();
  const index_t groups = (all.n + kernels::kDropoutGroup - 1) / kernels::kDropoutGroup;
  kernels::parallel_for(groups, kCost, [&](index_t begin, index_t end) {
    kernels::DropoutArgs<T> piece = all;
    piece.first = begin * kernels::kDropoutGroup;
    piece.n = std::min(end * kernels::kDropoutGroup, all.n) - piece.first;
    piece.x += piece.first;
    if (piece.residual != nullptr) piece.residual += piece.first;
    piece.y += piece.first;
    kernel.dropout(piece);
  });
}

Tensor drop(const Tensor& x, const kernels::Dropout& mask, const Tensor& residual) {
  const Tensor elements = x.contiguous();
  const Tensor addends = residual.defined() ? residual.contiguous() : residual;
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  visit_floating(x.dtype(), [&](auto kind) { run<decltype(kind)>(elements, mask, addends, y); });
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, const DropoutOptions& mask, const Tensor& residual) {
  detail::check_dropout_inputs(x, residual);
  const kernels::Dropout drawn = detail::dropout_of(kDropoutOp, mask);
  Recording op(kDropoutOp, {&x, &residual});
  const Tensor y = drop(x, drawn, residual);
  return op.finish(y, [&] {
    return [drawn](const Tensor& dy, Gradients& dx) {
      if (dx.needs_gradient(0)) dx.add(0, drop(dy, drawn, {}));
      dx.add(1, dy);
    };
  });
}

void detail::check_dropout_inputs(const Tensor& x, const Tensor& residual) {
  require(x.defined(), kDropoutOp, "x must be defined, got an undefined tensor");
  require(is_floating(x.dtype()), kDropoutOp, "x must have a floating dtype, got ", x.dtype());
  if (!residual.defined()) return;
  require(residual.shape() == x.shape() && residual.dtype() == x.dtype(), kDropoutOp,
          "residual must be ", x.dtype(), ' ', x.shape(), " like x, got ", residual.dtype(), ' ',
          residual.shape());
}

kernels::Dropout detail::dropout_of(const char* op, const DropoutOptions& mask) {
  require(mask.p >= 0 && mask.p <= 1, op, "dropout probability must be in [0, 1], got ", mask.p);
  const double steps = mask.p * static_cast<double>(kernels::kDropoutSteps);
  return {mask.key, static_cast<index_t>(std::lround(steps))};
}

}  // namespace tessera
