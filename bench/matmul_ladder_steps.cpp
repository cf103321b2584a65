// The steps of the ladder, to be read from top to bottom. matmul_ladder.h has their common parts.
//
// The compiler must not vectorise or exchange loops here (CMakeLists.txt), so that the gain of a
// step is the gain of its idea. Each C[i][j] is the same chain of fused multiply-adds in the order
// of k in every step, so all of them give the same bits as the library.
#include "bench/matmul_ladder.h"
#include "tensor/kernels/parallel.h"

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

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 12;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 6;
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 6;
#endif

/// The compiler's own vector: + and * work on all lanes at once.
typedef float Vec __attribute__((vector_size(kVectorBytes)));
constexpr index_t kLanes = kVectorBytes / sizeof(float);

Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof(v));
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
      for (index_t j = 0; j < p.n; j += kLanes) store(c + j, load(c + j) + a * load(b + j));
    }
  }
}

// Step 3. A tile of C stays in registers during the loop over k: kRows rows of kVectors vectors.
//
// A step of k loads kVectors vectors of B and kRows elements of A for kRows * kVectors
// multiply-adds, and C is written only at the end. With AVX2's 16 registers: 6 x 2 sums, 2 vectors
// of B and 1 element of A. Twelve independent sums also hide the latency of each.
constexpr int kVectors = 2;
constexpr index_t kPanel = kVectors * kLanes;

/// The tile at `c` = kRows rows of A times a panel of B. Consecutive rows of A, B and C are
/// `a_row`, `b_row` and `c_row` elements apart.
[[gnu::always_inline]] inline void multiply_tile(const float* a, index_t a_row, const float* b,
                                                 index_t b_row, float* c, index_t c_row,
                                                 index_t depth) {
  Vec sum[kRows][kVectors];  // all loops over it are unrolled, so that it is in registers
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Vec{};
  }
  for (index_t k = 0; k < depth; ++k) {
    Vec row_of_b[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) row_of_b[v] = load(b + k * b_row + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const float element = a[r * a_row + k];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] += element * row_of_b[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) store(c + r * c_row + v * kLanes, sum[r][v]);
  }
}

void register_tile(const Product& p) {
  for (index_t j = 0; j < p.n; j += kPanel) {
    for (index_t i = 0; i < p.m; i += kRows) {
      multiply_tile(p.a + i * p.k, p.k, p.b + j, p.n, p.c + i * p.n + j, p.n, p.k);
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
      for (index_t j = 0; j < kPanel; j += kLanes) {
        store(target, load(p.b + k * p.n + panel * kPanel + j));
        target += kLanes;
      }
    }
  }
}

void packed_panels(const Product& p) {
  pack_panels(p, 0, p.n / kPanel);
  for (index_t j = 0; j < p.n; j += kPanel) {
    for (index_t i = 0; i < p.m; i += kRows) {
      multiply_tile(p.a + i * p.k, p.k, p.packed + j * p.k, kPanel, p.c + i * p.n + j, p.n, p.k);
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
        multiply_tile(p.a + i * p.k, p.k, p.packed + j * p.k, kPanel, p.c + i * p.n + j, p.n, p.k);
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
