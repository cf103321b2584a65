// The common part of ops that call gemm. Private to the ops.
#pragma once

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/detail/panels.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// x as a matrix of its last axis: a view where one stride leads from row to row.
inline Tensor as_matrix(const Tensor& x) {
  index_t rows = 1;
  for (index_t i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return x.reshape({rows, x.size(-1)});
}

/// The arguments but for the second operand.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& a, Tensor& out) {
  return {
      .m = out.size(-2),
      .n = out.size(-1),
      .k = a.size(-1),
      .a = a.data<T>(),
      .a_row = a.strides()[a.rank() - 2],
      .a_col = a.strides().back(),
      .b = nullptr,
      .b_row = 0,
      .b_col = 0,
      .c = out.mutable_data<T>(),
      .c_row = out.size(-1),
  };
}

/// a b.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& a, const Tensor& b, Tensor& out) {
  kernels::GemmArgs<T> args = gemm_args<T>(a, out);
  args.b = b.data<T>();
  args.b_row = b.strides()[b.rank() - 2];
  args.b_col = b.strides().back();
  return args;
}

/// x weight^T; `x` is what `left_of` made of it.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& x, const Factor& weight, Tensor& out) {
  if (!weight.panels) return gemm_args<T>(x, weight.elements.t(), out);
  kernels::GemmArgs<T> args = gemm_args<T>(x, out);
  weight.panels->give(args, weight.first_row);
  return args;
}

/// x, or a copy that can be multiplied by the weight.
inline Tensor left_of(const Factor& weight, const Tensor& x) {
  return weight.panels ? weight.panels->operand(x) : x;
}

/// Throws where a gradient would have to pass a weight that is frozen or rounded.
/// Panels are made for x W^T: none can be read for dz W, the gradient of x.
inline void check_frozen(const char* op, const Recording& recording, const WeightView& weight) {
  const bool passes = recording.wanted(0) || recording.wanted(1);
  require(!passes || !weight.is_constant(), op, "weight ", weight.shape,
          " must not be frozen if a gradient is required; call thaw() first");
}

/// One product, cut among all threads.
template <class T>
void multiply_once(kernels::GemmArgs<T> args) {
  const auto& kernel = kernels::table().of<T>();
  args.workers = thread_count();
  Tensor workspace = Tensor::empty({kernel.gemm_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  kernel.gemm(args);
}

}  // namespace tessera::detail
