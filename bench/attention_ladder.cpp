// Times the steps of attention's ladder, and the library's own op as the last.
#include "bench/attention_ladder.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/registry.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/attention.h"
#include "tensor/random.h"
#include "tensor/storage.h"

namespace tessera::bench {

namespace {

// The size of attention/B:1/H:12/T:512/d:64.
constexpr index_t kHeads = 12;
constexpr index_t kTokens = 512;
constexpr index_t kWidth = 64;
constexpr double kAttentionTolerance =
    2e-6;  // of an output; tests/bench/attention_ladder_test.cpp holds it

/// The steps for the instruction set in use.
AttentionLadder attention_steps() {
#if defined(__x86_64__)
  if (current_isa() == "avx512") return avx512::attention_ladder();
  if (current_isa() == "avx2") return avx2::attention_ladder();
#endif
  return baseline::attention_ladder();
}

/// (tokens, heads, width) each: the heads side by side, as a projection leaves them.
struct Inputs {
  Tensor q = random_heads(), k = random_heads(), v = random_heads();

 private:
  static Tensor random_heads() { return uniform({kTokens, kHeads, kWidth}, -1, 1); }
};

/// As the op takes it: (1, heads, tokens, width), a view.
Tensor with_heads_first(const Tensor& x) {
  return x.unsqueeze(0).transpose(1, 2);
}

/// The definition for one column of a query's output, in double.
double attend_in_double(const Inputs& x, index_t query, index_t head, index_t column) {
  const auto at = [head](const Tensor& of, index_t token, index_t p) {
    return static_cast<double>(of.data<float>()[(token * kHeads + head) * kWidth + p]);
  };
  double sum = 0;
  double weighted = 0;
  for (index_t j = 0; j < kTokens; ++j) {
    double score = 0;
    for (index_t p = 0; p < kWidth; ++p) score += at(x.q, query, p) * at(x.k, j, p);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(kWidth)));
    sum += weight;
    weighted += weight * at(x.v, j, column);
  }
  return weighted / sum;
}

/// A case of `run(x)`, whose result is (tokens, heads, width).
template <class Run>
Case ladder_case(const std::string& label, const Inputs& x, const Run& run) {
  const auto error = [x](const Tensor& out) {
    const auto expected = [&](index_t e) {
      return attend_in_double(x, e / (kHeads * kWidth), e / kWidth % kHeads, e % kWidth);
    };
    return sampled_error(out, 500, expected, kAttentionTolerance);
  };
  return {[x, run] { return run(x); }, error, label};
}

std::string labelled(const char* idea, index_t bytes) {
  return str_cat(idea, ", buffers of ", bytes / 1024, " KiB");
}

Case step_case(const AttentionStep& step) {
  AttentionTask task = {};
  task.heads = kHeads;
  task.tokens = kTokens;
  task.width = kWidth;
  task.workers = std::min<index_t>(thread_count(), kHeads);
  const index_t room = step.room(task);
  const std::string label = labelled(step.idea, room * index_t{sizeof(float)});
  return ladder_case(label, Inputs(), [step, task, room](const Inputs& x) {
    Tensor out = Tensor::empty({kTokens, kHeads, kWidth});
    Tensor buffers = Tensor::empty({room});  // inside the call, as the library's workspace is
    AttentionTask now = task;
    now.q = x.q.data<float>();
    now.k = x.k.data<float>();
    now.v = x.v.data<float>();
    now.out = out.mutable_data<float>();
    now.room = buffers.mutable_data<float>();
    step.run(now);
    return out;
  });
}

Tensor attend_by_library(const Inputs& x) {
  const Tensor out =
      attention(with_heads_first(x.q), with_heads_first(x.k), with_heads_first(x.v)).output;
  return out.transpose(1, 2).squeeze(0);
}

/// What a call of the op takes from the allocator in addition to its output.
index_t bytes_of_library(const Inputs& x) {
  const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
  release_cached_memory();
  const index_t before = held();
  const Tensor out = attend_by_library(x);
  return held() - before - out.count() * index_t{sizeof(float)};
}

Case library_case() {
  const Inputs x;
  return ladder_case(labelled("the library's attention", bytes_of_library(x)), x,
                     attend_by_library);
}

}  // namespace

void register_attention_ladder() {
  constexpr Cost kCost = {.flops = 4.0 * kHeads * kTokens * kTokens * kWidth,
                          .bytes = 4.0 * sizeof(float) * kTokens * kHeads * kWidth};
  register_ladder(
      "attention_ladder", "attention from its definition to the library, one idea per step", kCost,
      kAttentionSteps, [](index_t step) {
        return step < kAttentionSteps ? step_case(attention_steps().steps[step]) : library_case();
      });
}

}  // namespace tessera::bench
