#include "tessera/models/inspect/attention_flow.h"

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::inspect {

Tensor value_norms(const Tensor& values, const Weight& out_proj, index_t heads) {
  constexpr const char* kOp = "value_norms";
  require(out_proj.shape().size() == 2 && heads > 0 && out_proj.size(1) > 0 &&
              out_proj.size(1) % heads == 0,
          kOp, "out_proj must have shape (D, H d) with ", heads, " heads, got ", out_proj.shape());
  const index_t width = out_proj.size(1) / heads;
  const index_t of_values = values.rank() == 3 ? values.size(2) / width : 0;
  require(of_values > 0 && values.size(2) % width == 0 && heads % of_values == 0, kOp,
          "values must have shape (B, T, G d) with d = ", width, " and G a divisor of ", heads,
          ", got ", values.shape());
  std::vector<Tensor> norms;
  for (index_t head = 0; head < heads; ++head) {
    const index_t from = head / (heads / of_values) * width;
    const index_t to = head * width;
    const Tensor none = zeros({values.size(0), values.size(1), heads * width}, values.dtype());
    const Tensor own = slice_scatter(none, values.slice(2, from, from + width), 2, to, to + width);
    norms.push_back(norm(linear(own, out_proj), {-1}));
  }
  return stack(norms, 1);
}

Tensor norm_weighted_attention(const Tensor& weights, const Tensor& values,
                               const Weight& out_proj) {
  constexpr const char* kOp = "norm_weighted_attention";
  require(weights.rank() == 4, kOp, "weights must have shape (B, H, T, T), got ", weights.shape());
  const Tensor norms = value_norms(values, out_proj, weights.size(1));
  require(norms.size(0) == weights.size(0) && norms.size(2) == weights.size(3), kOp,
          "values must have shape (", weights.size(0), ", ", weights.size(3), ", G d), got ",
          values.shape());
  return weights * norms.unsqueeze(2);
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
