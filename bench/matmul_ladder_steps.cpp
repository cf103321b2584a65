// The steps of the ladder, to be read from top to bottom. matmul_ladder.h has their common parts.
//
// The compiler must not vectorise or exchange loops here (CMakeLists.txt), so that the gain of a
// step is the gain of its idea. Each C[i][j] is the same chain of fused multiply-adds in the order
// of k in every step, so all of them give the same bits as the library.
#include "bench/matmul_ladder.h"
#include "bench/register_tile.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

namespace {

// Step 0. The definition: C[i][j] = sum_k A[i][k] B[k][j].
//
// Each addition of a sum waits for the previous one, 4 cycles, and each step of k takes 4 bytes
// from another row of B, a new cache line each time.
void definition(const Product& p) {
  for (index_t i = 0; i < p.m; ++i) {
    for (index_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (index_t k = 0; k < p.k; ++k) sum += p.a[i * p.k + k] * p.b[k * p.n + j];
      p.c[i * p.n + j] = sum;
    }
  }
}

// Step 1. The same sums with j innermost: B and C are read along their rows, and neighbouring
// sums do not wait for each other.
void rows_in_order(const Product& p) {
  for (index_t i = 0; i < p.m; ++i) {
    float* const c = p.c + i * p.n;
    for (index_t j = 0; j < p.n; ++j) c[j] = 0;
    for (index_t k = 0; k < p.k; ++k) {
      const float a = p.a[i * p.k + k];
      const float* const b = p.b + k * p.n;
      for (index_t j = 0; j < p.n; ++j) c[j] += a * b[j];
    }
  }
}

// Step 2. Vectors: sums of neighbouring j are independent, so a register holds several of them.
//
// However, each multiply-add loads a vector of B and one of C and stores C again: the limit is the
// memory ports of the core, not its arithmetic.
void vectors(const Product& p) {
  for (index_t i = 0; i < p.m; ++i) {
    float* const c = p.c + i * p.n;
    for (index_t j = 0; j < p.n; ++j) c[j] = 0;
    for (index_t k = 0; k < p.k; ++k) {
      const float a = p.a[i * p.k + k];
      const float* const b = p.b + k * p.n;
      for (index_t j = 0; j < p.n; j += kLanes<float>) {
        store(c + j, load(c + j) + a * load(b + j));
      }
    }
  }
}

// Step 3. A tile of C stays in registers during the loop over k (register_tile.h): kRows rows of
// kVectors vectors.
//
// With AVX2's 16 registers: 6 x 2 sums, 2 vectors of B and 1 element of A. Twelve independent sums
// also hide the latency of each.
constexpr int kRows = kVectorBytes == 64 ? 12 : 6;
constexpr int kVectors = 2;
constexpr index_t kPanel = kVectors * kLanes<float>;

/// The tile at row i, column j of C. Consecutive rows of the panel of B are `b_row` elements apart.
void tile_at(const Product& p, index_t i, index_t j, const float* b, index_t b_row) {
  multiply_tile<kRows, kVectors, false>({p.a + i * p.k, p.k, 1}, b, b_row, p.c + i * p.n + j, p.n,
                                        p.k);
}

void register_tile(const Product& p) {
  for (index_t j = 0; j < p.n; j += kPanel) {
    for (index_t i = 0; i < p.m; i += kRows) {
      tile_at(p, i, j, p.b + j, p.n);
    }
  }
}

// Step 4. B is packed first: the columns of one panel, row after row, in contiguous memory.
//
// In place the rows of a panel are n elements apart, each on its own page if n is large; packed,
// the tile reads them as one stream, and all tiles of a column of C share the panel.
void pack_panels(const Product& p, index_t begin, index_t end) {
  for (index_t panel = begin; panel < end; ++panel) {
    float* target = p.packed + panel * kPanel * p.k;
    for (index_t k = 0; k < p.k; ++k) {
      for (index_t j = 0; j < kPanel; j += kLanes<float>) {
        store(target, load(p.b + k * p.n + panel * kPanel + j));
        target += kLanes<float>;
      }
    }
  }
}

void packed_panels(const Product& p) {
  pack_panels(p, 0, p.n / kPanel);
  for (index_t j = 0; j < p.n; j += kPanel) {
    for (index_t i = 0; i < p.m; i += kRows) {
      tile_at(p, i, j, p.packed + j * p.k, kPanel);
    }
  }
}

// Step 5. Blocks for the caches: only a few rows at a time, so that their part of A stays in the
// second-level cache while all panels of B are read; otherwise each panel reads all of A from
// farther away.
//
// gemm.h also divides k into blocks if k is long; C then passes through memory once per block.
constexpr index_t kBlockRows = 48;

void multiply_blocks(const Product& p, index_t begin, index_t end) {
  for (index_t top = begin; top < end; top += kBlockRows) {
    const index_t bottom = end - top < kBlockRows ? end : top + kBlockRows;
    for (index_t j = 0; j < p.n; j += kPanel) {
      for (index_t i = top; i < bottom; i += kRows) {
        tile_at(p, i, j, p.packed + j * p.k, kPanel);
      }
    }
  }
}

void cache_blocks(const Product& p) {
  pack_panels(p, 0, p.n / kPanel);
  multiply_blocks(p, 0, p.m);
}

// Step 6. Threads: each packs some panels, then multiplies some rows. Threads share no sums.
void threads(const Product& p) {
  kernels::parallel_for(p.n / kPanel, p.k * kPanel,
                        [&](index_t begin, index_t end) { pack_panels(p, begin, end); });
  kernels::parallel_for(p.m / kRows, 2 * kRows * p.n * p.k, [&](index_t begin, index_t end) {
    multiply_blocks(p, begin * kRows, end * kRows);
  });
}

}  // namespace

Ladder matmul_ladder() {
  return {kRows,
          kPanel,
          {{"the definition: i, j, k", definition},
           {"j innermost", rows_in_order},
           {"vectors along j", vectors},
           {"a tile of C in registers", register_tile},
           {"B packed into panels", packed_panels},
           {"blocks for the caches", cache_blocks},
           {"threads", threads}}};
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
