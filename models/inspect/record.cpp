#include "models/inspect/record.h"

#include "nn/hook.h"
#include "tensor/autograd/tape.h"
#include "tensor/error.h"

namespace tessera::inspect {

double value_of(const Score& score) {
  const NoGrad not_recorded;
  return score().item();
}

std::vector<std::pair<std::string, Tensor>> record(const Run& run, const std::string& pattern) {
  std::vector<std::pair<std::string, Tensor>> steps;
  const nn::Hook hook(pattern, [&](const nn::Step& step) {
    steps.emplace_back(step.name, step.packed.unpack(step.value.detach()));
  });
  run();
  return steps;
}

HeadCounts count_heads(const Run& run) {
  HeadCounts counts = {};
  const nn::Hook hook("layers.*.self_attn.score_bias", [&](const nn::Step& step) {
    const index_t heads = step.value.size(1);
    require(counts.heads == 0 || counts.heads == heads, "count_heads",
            "layers must have equal numbers of heads, got ", counts.heads, " and ", heads);
    counts.heads = heads;
    ++counts.layers;
  });
  run();
  require(counts.layers > 0, "count_heads", "the run must compute attention, got none");
  return counts;
}

}  // namespace tessera::inspect
