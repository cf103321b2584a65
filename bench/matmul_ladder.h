// The ladder: C = A B from its definition to the scheme of tensor/kernels/gemm.h, one idea a step.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::bench {

/// C (m, n) = A (m, k) B (k, n), all dense and row after row. `packed` has room for B once more.
struct Product {
  const float* a;
  const float* b;
  float* c;
  float* packed;
  index_t m, n, k;
};

/// A step and what it adds to the one before.
struct LadderStep {
  const char* idea;
  void (*run)(const Product& p);
};

inline constexpr int kLadderSteps = 7;

/// Every step takes m that are multiples of `rows` and n that are multiples of `columns`, so that
/// no edge hides the idea; gemm.h shows the edges.
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
