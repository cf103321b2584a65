#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/detail/attention_kernel.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/reduce.h"

namespace tessera {

namespace {

using Chosen = std::optional<std::vector<index_t>>;

void check_chosen(const char* what, const Chosen& chosen, index_t size) {
  if (!chosen) return;
  for (index_t number : *chosen) {
    require(number >= 0 && number < size, detail::kAttentionOp, what, " must be in [0, ", size,
            "), got ", number);
  }
}

Tensor chosen_of(const Tensor& weights, index_t axis, const Chosen& chosen) {
  return chosen ? index_select(weights, axis, from_vector(*chosen)) : weights;
}

}  // namespace

void detail::check_request(const AttentionRequest& request, const char* what, const Shape& x,
                           index_t rank_with_heads) {
  require(x.size() >= 2, detail::kAttentionOp, what, " must have shape (..., Tq, any), got ", x);
  const bool has_heads = x.size() >= rank_with_heads;
  require(has_heads || !request.heads, detail::kAttentionOp, what,
          " must have an axis of heads to choose from, got ", x);
  require(has_heads || !request.averaged, detail::kAttentionOp, what,
          " must have an axis of heads to average, got ", x);
  require(!request.averaged || !request.heads || !request.heads->empty(), detail::kAttentionOp,
          "chosen heads must be at least 1 if they are averaged, got 0");
  if (request.heads) check_chosen("head", request.heads, x[x.size() - 3]);
  check_chosen("query", request.queries, x[x.size() - 2]);
}

Tensor requested_weights(const Tensor& weights, const AttentionRequest& request) {
  detail::check_request(request, "weights", weights.shape(), 3);
  const Tensor of_heads = chosen_of(weights, -3, request.heads);
  const Tensor of_queries = chosen_of(of_heads, -2, request.queries);
  return request.averaged ? mean(of_queries, {-3}) : of_queries;
}

}  // namespace tessera
