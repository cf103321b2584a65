// Runs multiply_tile of exercise 013.2, included once after it: the tiles of a whole product, for
// each instruction set. You need not write anything here.
#pragma once

#include "examples/course/exercises/013_matmul_ladder.h"

namespace tessera::exercises {

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tiles(const bench::Product& p) {
  constexpr index_t kColumns = 2 * kBytes / static_cast<index_t>(sizeof(float));
  for (index_t j = 0; j < p.n; j += kColumns) {
    for (index_t i = 0; i < p.m; i += kRows) {
      multiply_tile<kBytes, kRows>(p.a + i * p.k, p.k, p.b + j, p.n, p.c + i * p.n + j, p.n, p.k);
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline void tiles_avx512(const bench::Product& p) {
  multiply_tiles<64, 12>(p);
}
[[gnu::target("avx2,fma")]] inline void tiles_avx2(const bench::Product& p) {
  multiply_tiles<32, 6>(p);
}
#endif
inline void tiles_baseline(const bench::Product& p) {
  multiply_tiles<16, 6>(p);
}

Tiles tiles_for(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return {12, 32, tiles_avx512};
  if (isa == "avx2") return {6, 16, tiles_avx2};
#endif
  (void)isa;
  return {6, 8, tiles_baseline};
}

}  // namespace tessera::exercises
