// The common part of ops that call gemm. Private to the ops.
#pragma once

#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/detail/weight_panels.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// x as a matrix whose rows are its last axis: a view if one stride leads from row to row.
inline Tensor as_matrix(const Tensor& x) {
  index_t rows = 1;
  for (index_t i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return x.reshape({rows, x.size(-1)});
}

/// x as the kernels read it; if x has more than two axes, its first matrix.
template <class T>
kernels::MatrixRef<T> matrix_ref(const Tensor& x) {
  return {x.data<T>(), x.strides()[x.rank() - 2], x.strides().back()};
}

/// The arguments of the product a b.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& a, const kernels::SecondFactor<T>& b, Tensor& out) {
  return {.m = out.size(-2),
          .n = out.size(-1),
          .k = a.size(-1),
          .a = matrix_ref<T>(a),
          .b = b,
          .c = {out.mutable_data<T>(), out.size(-1)}};
}

/// The arguments of the product x weight^T, where `x` is a result of left_of.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& x, const Factor& weight, Tensor& out) {
  if (!weight.panels) return gemm_args<T>(x, matrix_ref<T>(weight.elements.t()), out);
  return gemm_args<T>(
      x, std::get<kernels::SecondFactor<T>>(weight.panels->factor(weight.first_row)), out);
}

/// x, or a copy that can be multiplied by the weight.
inline Tensor left_of(const Factor& weight, const Tensor& x) {
  return weight.panels ? weight.panels->operand(x) : x;
}

/// One product, shared by all threads.
template <class T>
void multiply_once(kernels::GemmArgs<T> args) {
  const auto& kernel = kernels::table().of<T>();
  args.workers = thread_count();
  Tensor workspace = Tensor::empty({kernel.gemm_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  kernel.gemm(args);
}

}  // namespace tessera::detail
