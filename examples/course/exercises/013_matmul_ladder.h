// The exercises of examples/course/013_matmul_ladder.md. Write them in 013_matmul_ladder.cpp.
#pragma once

#include <string>

#include "bench/matmul_ladder.h"

namespace tessera::exercises {

/// A core: its clock, the instructions that it starts per cycle, and the cycles of a multiply-add.
struct Core {
  double ghz, multiply_adds, loads, stores, latency;
};

/// An inner loop, for each of its multiply-add instructions: the numbers in it, its loads and
/// stores, and the independent sums that alternate, as printed by 013_matmul_ladder ("chains").
struct Loop {
  double numbers, loads, stores, chains;
};

/// 013.1. The milliseconds that `loop` needs for `products` products of two numbers (M N K of them
/// in a matrix product). Multiply-adds, loads, stores and waiting for a sum overlap, so that the
/// slowest of the four decides; between two additions to one sum there are `latency` cycles, in
/// which `chains` multiply-adds can start.
double predicted_ms(const Loop& loop, const Core& core, double products);

/// A vector of kBytes / 4 floats: + and * work on all lanes. `unaligned` may have any address.
template <int kBytes>
struct Vector {
  typedef float type __attribute__((vector_size(kBytes)));
  typedef float unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
};
template <int kBytes>
using Vec = typename Vector<kBytes>::type;

/// The vector at p, for reading or writing: `vector_at<64>(c) = sum;`
template <int kBytes>
[[gnu::always_inline]] inline typename Vector<kBytes>::unaligned& vector_at(float* p) {
  return *reinterpret_cast<typename Vector<kBytes>::unaligned*>(p);
}
template <int kBytes>
[[gnu::always_inline]] inline const typename Vector<kBytes>::unaligned& vector_at(const float* p) {
  return *reinterpret_cast<const typename Vector<kBytes>::unaligned*>(p);
}

/// 013.2. Step 3 of the ladder: the tile of C at `c`, kRows rows of 2 vectors, becomes the sum over
/// k < depth of A[r][k] B[k][j]. Rows of A, B and C are a_row, b_row and c_row elements apart; the
/// previous contents of C are ignored.
///
/// The sums must stay in registers: use an array Vec<kBytes> sum[kRows][2], with `#pragma GCC
/// unroll 16` above every loop over it.
template <int kBytes, int kRows>
void multiply_tile(const float* a, index_t a_row, const float* b, index_t b_row, float* c,
                   index_t c_row, index_t depth);

/// All tiles of a product by multiply_tile, compiled for an instruction set: 013_tiles.h.
struct Tiles {
  index_t rows, columns;
  void (*run)(const bench::Product& p);
};
Tiles tiles_for(const std::string& isa);

}  // namespace tessera::exercises
