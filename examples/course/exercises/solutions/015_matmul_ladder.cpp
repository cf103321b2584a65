// One solution of each exercise of 015.
#include "examples/course/exercises/015_matmul_ladder.h"
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

double predicted_ms(const Loop& loop, const Core& core, double products) {
  const double cycles = std::max({1 / core.multiply_adds, loop.loads / core.loads,
                                  loop.stores / core.stores, core.latency / loop.sums});
  return products / loop.width * cycles / core.ghz * 1e-6;
}

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, index_t a_row, const float* b,
                                                 index_t b_row, float* c, index_t c_row,
                                                 index_t depth) {
  constexpr index_t kLanes = kBytes / static_cast<index_t>(sizeof(float));
  Vec<kBytes> sum[kRows][2];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = Vec<kBytes>{};
  for (index_t k = 0; k < depth; ++k) {
    const Vec<kBytes> left = vector_at<kBytes>(b + k * b_row);
    const Vec<kBytes> right = vector_at<kBytes>(b + k * b_row + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] += a[r * a_row + k] * left;
      sum[r][1] += a[r * a_row + k] * right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    vector_at<kBytes>(c + r * c_row) = sum[r][0];
    vector_at<kBytes>(c + r * c_row + kLanes) = sum[r][1];
  }
}

}  // namespace tessera::exercises
