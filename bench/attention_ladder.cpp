// Times the steps of attention's ladder, and the library's own op at the end.
#include <algorithm>

#include "bench/attention_inputs.h"
#include "bench/ladders.h"
#include "bench/registry.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/attention.h"

namespace tessera::bench {

namespace {

// The size of attention/B:1/H:12/T:512/d:64.
constexpr index_t kHeads = 12;
constexpr index_t kTokens = 512;
constexpr index_t kWidth = 64;

AttentionInputs ladder_inputs() {
  AttentionSize size;
  size.heads = kHeads;
  size.queries = size.keys = kTokens;
  size.width = kWidth;
  return AttentionInputs(size);
}

Case step_case(const AttentionStep& step) {
  const auto run = [step](const AttentionInputs& x) {
    Tensor out = Tensor::empty({1, kTokens, kHeads, kWidth});
    AttentionTask task = {.q = x.q.data<float>(),
                          .k = x.k.data<float>(),
                          .v = x.v.data<float>(),
                          .out = out.mutable_data<float>(),
                          .room = nullptr,
                          .heads = kHeads,
                          .tokens = kTokens,
                          .width = kWidth,
                          .workers = std::min<index_t>(thread_count(), kHeads)};
    Tensor room =
        Tensor::empty({step.room(task)});  // inside the call, like the library's workspace
    task.room = room.mutable_data<float>();
    step.run(task);
    return out.transpose(1, 2);
  };
  const AttentionInputs x = ladder_inputs();
  return {[x, run] { return run(x); }, [x](const Tensor& out) { return x.error(out); }, step.idea};
}

Case library_case() {
  const AttentionInputs x = ladder_inputs();
  return {[x] { return attention(x.q, x.k, x.v).output; },
          [x](const Tensor& out) { return x.error(out); }, "the library's attention"};
}

}  // namespace

void register_attention_ladder() {
  constexpr Cost kCost = {.flops = 4.0 * kHeads * kTokens * kTokens * kWidth,
                          .bytes = 4.0 * sizeof(float) * kTokens * kHeads * kWidth};
  register_ladder(
      "attention_ladder", "attention from its definition to the library, one idea per step", kCost,
      kAttentionSteps, [](index_t step) {
        return step < kAttentionSteps ? step_case(attention_ladder().steps[step]) : library_case();
      });
}

}  // namespace tessera::bench
