#include "tessera/models/inspect/heads.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/nn/hook.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::inspect {

namespace {

constexpr const char* kAblationOp = "head_ablation";

/// The chosen numbers below `count`; all if there is no list.
std::vector<index_t> chosen_of(const char* part, const std::optional<std::vector<index_t>>& chosen,
                               index_t count) {
  std::vector<index_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (chosen) numbers = *chosen;
  for (const index_t n : numbers) {
    require(n >= 0 && n < count, kAblationOp, part, " must be from 0 to ", count - 1, ", got ", n);
  }
  return numbers;
}

}  // namespace

Tensor head_ablation(const Score& score, const HeadChoice& chosen) {
  double whole = 0;
  const HeadCounts counts = count_heads(kAblationOp, [&] { whole = value_of(score); });
  const std::vector<index_t> layers = chosen_of("layers", chosen.layers, counts.layers);
  const std::vector<index_t> heads = chosen_of("heads", chosen.heads, counts.heads);
  Tensor drops = zeros({std::ssize(layers), std::ssize(heads)}, kFloat64);
  auto* drop = drops.mutable_data<double>();
  for (const index_t layer : layers) {
    for (const index_t head : heads) {
      const nn::Hook hook(
          str_cat("layers.", layer, ".self_attn.heads"),
          [&](const nn::HookPoint& point) { return point.without_head(head, counts.heads); });
      *drop++ = whole - value_of(score);
    }
  }
  return drops;
}

Tensor head_gradients(const Score& score) {
  constexpr const char* kOp = "head_gradients";
  const HeadCounts counts = count_heads(kOp, [&] { value_of(score); });
  // A factor 1 for each head of each layer, the same in all batches.
  std::vector<Tensor> factors;
  std::vector<std::unique_ptr<nn::Hook>> hooks;
  for (index_t layer = 0; layer < counts.layers; ++layer) {
    factors.push_back(ones({counts.heads, 1}, kFloat64).set_requires_grad());
    hooks.push_back(std::make_unique<nn::Hook>(
        str_cat("layers.", layer, ".self_attn.heads"),
        [factor = factors.back(), heads = counts.heads](const nn::HookPoint& point) {
          const Tensor columns = point.value.unflatten(-1, {heads, point.value.size(-1) / heads});
          return (columns * factor.to(point.value.dtype())).flatten(-2, -1);
        }));
  }
  backward(kOp, score);
  std::vector<Tensor> rows;
  for (const Tensor& factor : factors) {
    rows.push_back(factor.grad().defined() ? factor.grad().squeeze(1)
                                           : zeros({counts.heads}, kFloat64));
  }
  return stack(rows);
}

Patching activation_patching(const Score& from, const Score& to, const std::string& part) {
  constexpr const char* kOp = "activation_patching";
  require(part.empty() || part.front() == '.', kOp, "part must be empty or begin with '.', got ",
          printable(part));
  Patching result;
  const auto points = record([&] { result.from = value_of(from); }, "layers.*" + part);
  require(!points.empty(), kOp, "from must compute layers.N", part, ", got no such hook point");
  result.to = value_of(to);
  const index_t tokens = points.front().second.size(1);
  result.scores = zeros({std::ssize(points), tokens}, kFloat64);
  auto* score = result.scores.mutable_data<double>();
  for (const auto& recorded : points) {
    const std::string& name = recorded.first;
    const Tensor& value = recorded.second;
    require(std::ranges::count(points, name, &std::pair<std::string, Tensor>::first) == 1, kOp,
            "from must compute ", name, " once, got several");
    require(value.rank() == 3 && value.size(0) == 1, kOp, name, " must have shape (1, T, D), got ",
            value.shape());
    for (index_t token = 0; token < tokens; ++token) {
      const nn::Hook hook(name, [&](const nn::HookPoint& point) {
        require(point.batch() == 1 && point.text(0).size(0) == tokens, kOp, "both texts must have ",
                tokens, " tokens, got a hook point of shape ", point.value.shape());
        return point.with_token(0, token, value.select(0, 0).select(0, token));
      });
      *score++ = value_of(to);
      require(hook.calls() == 1, kOp, "to must compute ", name, " once, got ", hook.calls(),
              " times");
    }
  }
  return result;
}

}  // namespace tessera::inspect
