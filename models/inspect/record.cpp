#include "tessera/models/inspect/record.h"

#include <functional>
#include <set>

#include "tessera/nn/hook.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"

namespace tessera::inspect {

double value_of(const Score& score) {
  const NoGrad not_recorded;
  return score().item();
}

std::vector<std::pair<std::string, Tensor>> record(const Forward& run, const std::string& pattern) {
  std::vector<std::pair<std::string, Tensor>> points;
  const nn::Hook hook(pattern, [&](const nn::HookPoint& point) {
    points.emplace_back(point.name, point.unpadded.pad(point.value.detach()));
  });
  run();
  return points;
}

HeadCounts count_heads(const char* op, const Forward& run) {
  index_t heads = 0;
  std::set<std::string, std::less<>> layers;
  const nn::Hook hook("layers.*.self_attn.score_bias", [&](const nn::HookPoint& point) {
    const index_t count = point.value.size(1);
    require(heads == 0 || heads == count, op, "layers must have equal numbers of heads, got ",
            heads, " and ", count);
    heads = count;
    layers.emplace(point.name);
  });
  std::set<std::string, std::less<>> all;
  const nn::Hook each("layers.*", [&](const nn::HookPoint& point) { all.emplace(point.name); });
  run();
  require(!layers.empty(), op, "score must run a model with attention, got none");
  require(layers.size() == all.size(), op, "all layers must have heads, got ",
          all.size() - layers.size(), " of ", all.size(), " layers with a custom attention");
  return {std::ssize(layers), heads};
}

double backward(const char* op, const Score& score) {
  Tape tape;
  const Tensor y = score();
  require(y.count() == 1, op, "score must have 1 element, got shape ", y.shape());
  require(y.requires_grad(), op,
          "score must depend on the hook point and record gradients, got none; call the model "
          "itself, not a function that runs without a tape");
  tape.backward(y, ones(y.shape(), y.dtype()));
  return y.detach().item();
}

}  // namespace tessera::inspect
