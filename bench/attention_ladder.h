// The ladder of attention: softmax(Q K^T / sqrt d) V from its definition to the scheme of
// tensor/kernels/attention.h, one idea per step.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera::bench {

/// Attention without masks. Inputs and output are (tokens, heads, width), as in the output of a
/// projection: the rows of one head are heads * width elements apart.
struct AttentionTask {
  const float *q, *k, *v;
  float* out;
  float* room;  // the number of floats given by the step's `room`
  index_t heads, tokens, width;
  index_t workers;  // threads, for the steps that use them
};

/// A step and the idea that it adds to the previous one.
struct AttentionStep {
  const char* idea;
  void (*run)(const AttentionTask& task);
  index_t (*room)(const AttentionTask& task);  // floats needed in addition to inputs and output
};

inline constexpr int kAttentionSteps = 7;

struct AttentionLadder {
  AttentionStep steps[kAttentionSteps];
};

// attention_ladder_steps.cpp, compiled for each instruction set.
namespace baseline {
AttentionLadder attention_ladder();
}
#if defined(__x86_64__)
namespace avx2 {
AttentionLadder attention_ladder();
}
namespace avx512 {
AttentionLadder attention_ladder();
}
#endif

}  // namespace tessera::bench
