// The kernels' interface: one table of function pointers per instruction set, all with the same
// meaning. Raw pointers, extents and strides (in elements); no allocation, no exceptions.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::kernels {

/// C = A B (+ C) (+ bias), for matrices of any strides.
///
/// **Shapes**: A (m, k), B (k, n), C (m, n), bias (n).
/// Each C[i][j] adds its products in the order of k into one chain of fused multiply-adds, then the
/// bias: no stride, size, thread count or vector width changes its bits.
template <class T>
struct GemmArgs {
  index_t m, n, k;
  const T* a;
  index_t a_row, a_col;
  const T* b;
  index_t b_row, b_col;
  T* c;
  index_t c_row;            // C's columns are contiguous
  bool accumulate = false;  // false never reads C
  const T* bias = nullptr;  // added to every row once the sum is complete
  T* workspace = nullptr;   // gemm_workspace(args) elements
};

template <class T>
struct FloatKernels {
  void (*gemm)(const GemmArgs<T>&) noexcept;
  /// The number of elements that gemm needs as workspace.
  index_t (*gemm_workspace)(const GemmArgs<T>&) noexcept;
};

struct KernelTable {
  int vector_bytes;
  FloatKernels<float> f32;
  FloatKernels<double> f64;

  template <class T>
  const FloatKernels<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
};

}  // namespace tessera::kernels
