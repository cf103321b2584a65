#include "models/inspect/heads.h"

#include "nn/hook.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/rearrange.h"
#include "tensor/ops/reduce.h"

namespace tessera::inspect {

namespace {

std::string layer_name(index_t layer) {
  return str_cat("layers.", layer);
}

}  // namespace

Tensor head_ablation(const Score& score) {
  double whole = 0;
  const HeadCounts counts = count_heads([&] { whole = value_of(score); });
  Tensor falls = zeros({counts.layers, counts.heads}, kFloat64);
  auto* fall = falls.mutable_data<double>();
  for (index_t layer = 0; layer < counts.layers; ++layer) {
    for (index_t head = 0; head < counts.heads; ++head) {
      const nn::Hook hook(layer_name(layer) + ".self_attn.heads", [&](const nn::Step& step) {
        const index_t width = step.value.size(-1) / counts.heads;
        const Tensor columns = step.value.slice(-1, head * width, (head + 1) * width);
        return slice_scatter(step.value, zeros_like(columns), -1, head * width, (head + 1) * width);
      });
      *fall++ = whole - value_of(score);
    }
  }
  return falls;
}

Tensor head_gradients(const Score& score) {
  constexpr const char* kOp = "head_gradients";
  const HeadCounts counts = count_heads([&] { value_of(score); });
  std::vector<Tensor> factors;  // of each layer's heads, 1
  Tape tape;
  const nn::Hook hook("layers.*.self_attn.heads", [&](const nn::Step& step) {
    factors.push_back(ones({counts.heads, 1}, step.value.dtype()).set_requires_grad());
    const Shape heads = {counts.heads, step.value.size(-1) / counts.heads};
    return (step.value.unflatten(-1, heads) * factors.back()).flatten(-2, -1);
  });
  const Tensor y = score();
  require(y.count() == 1, kOp, "score must have 1 element, got shape ", y.shape());
  require(y.requires_grad(), kOp, "score must depend on a head");
  tape.backward(y, ones(y.shape(), y.dtype()));
  std::vector<Tensor> rows;
  for (const Tensor& factor : factors) {
    const Tensor gradient = factor.grad().defined() ? factor.grad() : zeros_like(factor.detach());
    rows.push_back(gradient.squeeze(1).to(kFloat64));
  }
  return stack(rows);
}

Patching activation_patching(const Score& from, const Score& to, const std::string& part) {
  constexpr const char* kOp = "activation_patching";
  Patching result;
  const auto is_wanted = [&](const std::string& name) {
    const std::size_t dot = name.find('.', std::string("layers.").size());
    return (dot == std::string::npos ? "" : name.substr(dot)) == part;
  };
  std::vector<std::pair<std::string, Tensor>> steps;
  for (auto& step : record([&] { result.from = value_of(from); }, "layers.*" + part)) {
    if (is_wanted(step.first)) steps.push_back(std::move(step));
  }
  require(!steps.empty(), kOp, "from must compute layers.N", part, ", got no such step");
  result.to = value_of(to);
  const index_t tokens = steps.front().second.size(1);
  result.scores = zeros({std::ssize(steps), tokens}, kFloat64);
  auto* score = result.scores.mutable_data<double>();
  for (const auto& [name, value] : steps) {
    require(value.rank() == 3 && value.size(0) == 1, kOp, name,
            " must be that of 1 text, got shape ", value.shape());
    for (index_t token = 0; token < tokens; ++token) {
      const nn::Hook hook(name, [&](const nn::Step& step) {
        require(step.batch() == 1 && step.text(0).size(0) == tokens, kOp, "both texts must have ",
                tokens, " tokens, got a step of shape ", step.value.shape());
        return step.with_token(0, token, value.select(0, 0).select(0, token));
      });
      *score++ = value_of(to);
    }
  }
  return result;
}

}  // namespace tessera::inspect
