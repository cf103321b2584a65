// The ladder: C = A B from its definition to the scheme of tensor/kernels/gemm.h, one idea per
// step.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera::bench {

/// C (m, n) = A (m, k) B (k, n), all contiguous and row-major. `packed` has room for a copy of B.
struct Product {
  const float* a;
  const float* b;
  float* c;
  float* packed;
  index_t m, n, k;
};

/// A step and the idea that it adds to the previous one.
struct LadderStep {
  const char* idea;
  void (*run)(const Product& p);
};

inline constexpr int kLadderSteps = 7;

/// Every step takes m that are multiples of `rows` and n that are multiples of `columns`, so that
/// incomplete tiles do not hide the idea; gemm.h handles these.
struct Ladder {
  index_t rows, columns;
  LadderStep steps[kLadderSteps];
};

// matmul_ladder_steps.cpp, compiled for each instruction set.
namespace baseline {
Ladder matmul_ladder();
}
#if defined(__x86_64__)
namespace avx2 {
Ladder matmul_ladder();
}
namespace avx512 {
Ladder matmul_ladder();
}
#endif

}  // namespace tessera::bench
