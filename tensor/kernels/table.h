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

/// out = softmax(q k^T scale + masks) v, per batch and head, without the matrix of scores in memory.
///
/// **Shapes**: q (batch, heads, queries, width), k (batch, heads, keys, width),
/// v (batch, heads, keys, v_width), out (batch, heads, queries, v_width). Strides are those of the
/// first three axes; the last axis is contiguous.
/// Masked keys get weight exactly 0 and their values are never used, NaN or not; a query whose keys
/// are all masked gives zeros. `out` must not overlap the inputs.
template <class T>
struct AttentionArgs {
  index_t batch, heads, queries, keys, width, v_width;
  const T* q;
  index_t q_strides[3];
  const T* k;
  index_t k_strides[3];
  const T* v;
  index_t v_strides[3];
  T* out;
  index_t out_strides[3];
  T scale;
  bool causal = false;               // query i sees keys j <= i
  const index_t* lengths = nullptr;  // (batch): keys j >= lengths[b] are masked
  const bool* keep = nullptr;        // (batch, heads, queries, keys): false masks
  index_t keep_strides[4] = {};      // 0 where it is broadcast
  const T* bias = nullptr;           // the same shape: added to the scaled scores; -inf masks
  index_t bias_strides[4] = {};
  T* weights = nullptr;              // the same shape: receives the weights; keys are contiguous
  index_t weights_strides[3] = {};
  index_t workers = 1;               // threads
  T* workspace = nullptr;            // attention_workspace(args) elements
};

template <class T>
struct FloatKernels {
  void (*gemm)(const GemmArgs<T>&) noexcept;
  /// The number of elements that gemm needs as workspace.
  index_t (*gemm_workspace)(const GemmArgs<T>&) noexcept;
  void (*attention)(const AttentionArgs<T>&) noexcept;
  index_t (*attention_workspace)(const AttentionArgs<T>&) noexcept;
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
