// The register tile of both ladders: step 3 of matmul's, step 4 of attention's.
#pragma once

#include "tessera/tensor/kernels/simd.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

using kernels::TESSERA_ISA::kLanes;
using kernels::TESSERA_ISA::kVectorBytes;
using kernels::TESSERA_ISA::load;
using kernels::TESSERA_ISA::store;
using kernels::TESSERA_ISA::Vec;

/// A matrix: element (i, k) is data[i * row + k * column].
struct Strided {
  const float* data;
  index_t row, column;
};

/// The tile of C at `c`, kRows rows of kVectors vectors, (+)= kRows rows of A times a panel of B.
/// Consecutive rows of B and C are `b_row` and `c_row` elements apart.
///
/// A step of k loads kVectors vectors of B and kRows elements of A for kRows * kVectors
/// multiply-adds, and C is written only at the end.
template <int kRows, int kVectors, bool kAccumulate>
[[gnu::always_inline]] inline void multiply_tile(Strided a, const float* b, index_t b_row, float* c,
                                                 index_t c_row, index_t depth) {
  Vec<float> sums[kRows][kVectors];  // all loops over it are unrolled, so that it is in registers
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = kAccumulate ? load(c + r * c_row + v * kLanes<float>) : Vec<float>{};
    }
  }
  for (index_t k = 0; k < depth; ++k) {
    Vec<float> row_of_b[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row_of_b[v] = load(b + k * b_row + v * kLanes<float>);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const float element = a.data[r * a.row + k * a.column];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] += element * row_of_b[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(c + r * c_row + v * kLanes<float>, sums[r][v]);
  }
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
