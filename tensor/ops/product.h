// What ops that call gemm share. Private to the ops.
#pragma once

#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// x as a matrix of its last axis: a view where one stride leads from row to row.
inline Tensor as_matrix(const Tensor& x) {
  index_t rows = 1;
  for (index_t i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return x.reshape({rows, x.size(-1)});
}

template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& a, const Tensor& b, Tensor& out) {
  return {
      .m = out.size(-2),
      .n = out.size(-1),
      .k = a.size(-1),
      .a = a.data<T>(),
      .a_row = a.strides()[a.rank() - 2],
      .a_col = a.strides().back(),
      .b = b.data<T>(),
      .b_row = b.strides()[b.rank() - 2],
      .b_col = b.strides().back(),
      .c = out.mutable_data<T>(),
      .c_row = out.size(-1),
  };
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
