// The common part of ops that call gemm. Private to the ops.
#pragma once

#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/profile_span.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// x as a matrix whose rows are its last axis: a view if the rows are evenly spaced.
inline Tensor as_matrix(const Tensor& x) {
  index_t rows = 1;
  for (index_t i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return x.reshape({rows, x.size(-1)});
}

/// x in the form that kernels read; if x has more than two axes, its first matrix.
template <class T>
kernels::MatrixRef<T> matrix_ref(const Tensor& x) {
  return {x.data<T>(), x.strides()[x.rank() - 2], x.strides().back()};
}

/// Counts the work of `products` products for profiles; an element of B takes `b_bytes`.
template <class T>
void count_product(const kernels::GemmArgs<T>& args, index_t products = 1,
                   std::size_t b_bytes = sizeof(T)) {
  if (!is_profiling()) return;
  const auto m = static_cast<double>(args.m * products);
  const auto n = static_cast<double>(args.n);
  const auto k = static_cast<double>(args.k);
  const double columns = args.epilogue.gated ? 2 * n : n;
  const double b = k * columns * static_cast<double>(products) * static_cast<double>(b_bytes);
  count_work(2 * m * columns * k, b + m * (k + n) * double{sizeof(T)});
}

/// One product, shared by all threads.
template <class T>
void multiply_once(kernels::GemmArgs<T> args) {
  const auto& kernel = kernels::table<T>();
  args.workers = thread_count();
  Tensor workspace;
  if (const index_t room = kernel.gemm_workspace(args); room > 0) {
    workspace = Tensor::empty({room}, dtype_of<T>);
    args.workspace = workspace.mutable_data<T>();
  }
  count_product(args);
  kernel.gemm(args);
}

}  // namespace tessera::detail
