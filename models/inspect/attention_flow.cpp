#include "models/inspect/attention_flow.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"

namespace tessera::inspect {

Tensor value_weighted(const Tensor& weights, const Tensor& values, const Tensor& out_proj) {
  constexpr const char* kOp = "value_weighted";
  require(weights.rank() == 4, kOp, "weights must have shape (B, H, T, T), got ", weights.shape());
  require(values.rank() == 3 && values.size(0) == weights.size(0) &&
              values.size(1) == weights.size(3) && values.size(2) % weights.size(1) == 0,
          kOp, "values must have shape (", weights.size(0), ", ", weights.size(3), ", H d), got ",
          values.shape());
  require(out_proj.rank() == 2 && out_proj.size(1) == values.size(2), kOp,
          "out_proj must have shape (D, ", values.size(2), "), got ", out_proj.shape());
  const Shape heads = {weights.size(1), values.size(2) / weights.size(1)};
  const Tensor v = values.unflatten(2, heads).transpose(1, 2);       // (B, H, T, d)
  const Tensor w = out_proj.unflatten(1, heads).permute({1, 2, 0});  // (H, d, D)
  const Tensor lengths = norm(matmul(v, w), {-1});                   // (B, H, T)
  return weights * lengths.unsqueeze(2);
}

Tensor attention_rollout(const std::vector<Tensor>& weights) {
  constexpr const char* kOp = "attention_rollout";
  require(!weights.empty(), kOp, "weights must have at least 1 layer, got none");
  const Tensor& first = weights.front();
  require(first.rank() == 4 && first.size(2) == first.size(3), kOp,
          "weights must have shape (B, H, T, T), got ", first.shape());
  Tensor flow = eye(first.size(3), {}, first.dtype());
  for (const Tensor& layer : weights) {
    require(layer.rank() == 4 && layer.size(0) == first.size(0) && layer.size(2) == first.size(2) &&
                layer.size(3) == first.size(3),
            kOp, "layers must have weights of the same shape, got ", first.shape(), " and ",
            layer.shape());
    const Tensor passed = eye(first.size(3), {}, first.dtype());
    flow = matmul((mean(layer, {1}) + passed) * 0.5, flow);
  }
  return flow;
}

}  // namespace tessera::inspect
