// Mistakes that can be planted, and how the hint begins that each must get.
//
// scalar: a multiply-add computes loop.numbers products
// flops: a multiply-add is one instruction, though two operations
// unit: GHz are cycles per nanosecond
// nanoseconds: cycles / GHz are nanoseconds
// sum: ports work at the same time
// wait: a sum waits `latency` cycles
// alone: while a sum waits, the other chains start
// stale: sums must start at 0
// short: the last k is missing
// assign: the products over k must be added
// half: a tile has two vectors of columns
// packed: row k of B is at b + k * b_row
// turned: A[r][k] is a[r * a_row + k]
#include <algorithm>

#include "examples/course/exercises/013_matmul_ladder.h"
#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

double predicted_ms(const Loop& loop, const Core& core, double products) {
  const double chains = planted("alone") ? 1 : loop.chains;
  const double wait = planted("wait") ? 0 : core.latency / chains;
  const double multiply = 1 / core.multiply_adds;
  const double load = loop.loads / core.loads;
  const double store = loop.stores / core.stores;
  const double cycles =
      planted("sum") ? multiply + load + store + wait : std::max({multiply, load, store, wait});
  return products * (planted("flops") ? 2 : 1) / (planted("scalar") ? 1 : loop.numbers) * cycles /
         core.ghz *
         (planted("unit")          ? 1e-3
          : planted("nanoseconds") ? 1
                                   : 1e-6);
}

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, index_t a_row, const float* b,
                                                 index_t b_row, float* c, index_t c_row,
                                                 index_t depth) {
  constexpr index_t kLanes = kBytes / static_cast<index_t>(sizeof(float));
  const int vectors = planted("half") ? 1 : 2;
  const bool turned = planted("turned"), assigns = planted("assign"), stale = planted("stale");
  if (planted("packed")) b_row = 2 * kLanes;
  if (planted("short")) --depth;
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      Vec<kBytes> sum = {};
      if (stale) sum = vector_at<kBytes>(c + r * c_row + v * kLanes);
      for (index_t k = 0; k < depth; ++k) {
        const float element = turned ? a[k * a_row + r] : a[r * a_row + k];
        const Vec<kBytes> row = vector_at<kBytes>(b + k * b_row + v * kLanes);
        sum = assigns ? element * row : sum + element * row;
      }
      vector_at<kBytes>(c + r * c_row + v * kLanes) = sum;
    }
  }
}

}  // namespace tessera::exercises

#include "examples/course/exercises/013_tiles.h"  // compiles multiply_tile
