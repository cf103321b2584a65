// The common part of ops that call gemm. Private to the ops.
#pragma once

#include <type_traits>
#include <variant>

#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/detail/int8_panels.h"
#include "tensor/ops/detail/product_work.h"
#include "tensor/ops/detail/weight_panels.h"
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

/// The arguments of the product a b.
template <class T>
kernels::GemmArgs<T> gemm_args(const Tensor& a, const kernels::SecondFactor<T>& b, Tensor& out) {
  return {{.m = out.size(-2),
           .n = out.size(-1),
           .k = a.size(-1),
           .c = {out.mutable_data<T>(), out.size(-1)}},
          matrix_ref<T>(a),
          b};
}

/// One product, shared by all threads.
template <class T>
void multiply_once(kernels::GemmArgs<T> args) {
  const auto& kernel = kernels::table().of<T>();
  args.workers = thread_count();
  Tensor workspace;
  if (const index_t room = kernel.gemm_workspace(args); room > 0) {
    workspace = Tensor::empty({room}, dtype_of<T>);
    args.workspace = workspace.mutable_data<T>();
  }
  count_product(args);
  kernel.gemm(args);
}

/// out = epilogue(x weight^T), for matrices.
template <class T>
void multiply(const Tensor& x, const Factor& weight, const kernels::Epilogue<T>& epilogue,
              Tensor& out) {
  const auto multiply_by = [&](const Tensor& a, const kernels::SecondFactor<T>& b) {
    kernels::GemmArgs<T> args = gemm_args<T>(a, b, out);
    args.epilogue = epilogue;
    multiply_once(args);
  };
  if (!weight.panels) return multiply_by(x, matrix_ref<T>(weight.elements.t()));
  const PanelFactor factor = weight.panels->from_row(weight.first_row);
  if constexpr (std::is_same_v<T, float>) {
    if (const auto* const codes = std::get_if<kernels::Int8Panels>(&factor)) {
      return multiply_int8(x, *codes, epilogue, out);
    }
  }
  multiply_by(x, std::get<kernels::SecondFactor<T>>(factor));
}

}  // namespace tessera::detail
