// A request for attention weights.
#pragma once

#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// Which attention weights are returned, by the op or by a whole encoder. Numbers come in any
/// order; an absent list means all. `AttentionRequest{}` asks for all, `{.averaged = true}` for
/// what torch.nn.MultiheadAttention returns.
struct AttentionRequest {
  std::optional<std::vector<index_t>> layers = {};  // read by stacks of layers, else ignored
  std::optional<std::vector<index_t>> heads = {};
  std::optional<std::vector<index_t>> queries = {};
  bool averaged = false;  // over the heads, the chosen ones
};

/// The part of one layer's weights that a request selects.
/// **Shapes**: (..., H, Tq, Tk) -> (..., chosen heads, chosen queries, Tk), averaged (..., chosen
/// queries, Tk). **Errors**: as attention().
Tensor requested_weights(const Tensor& weights, const AttentionRequest& request);

namespace detail {

/// Throws unless `x`, the shape of `what`, which ends in (Tq, any), has the heads and queries of the
/// request; from `rank_with_heads` axes on it has heads.
void check_request(const AttentionRequest& request, const char* what, const Shape& x,
                   index_t rank_with_heads);

}  // namespace detail

}  // namespace tessera
