#include "tensor/ops/attention_weights.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/softmax.h"

namespace tessera {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// True where a query may use a key, broadcastable to (B, H, Tq, Tk); undefined where all may.
Tensor usable(const AttentionMask& mask, index_t queries, index_t keys) {
  Tensor result;
  const auto restrict_to = [&](const Tensor& keep) {
    result = result.defined() ? logical_and(result, keep) : keep;
  };
  if (mask.causal()) restrict_to(ge(arange(queries).unsqueeze(1), arange(keys)));
  if (mask.lengths().defined()) {
    restrict_to(lt(arange(keys), mask.lengths().reshape({-1, 1, 1, 1})));
  }
  if (mask.keep().defined()) restrict_to(mask.keep());
  if (mask.bias().defined()) restrict_to(ne(mask.bias().detach(), -kInfinity));
  return result;
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionMask& mask) {
  require(q.rank() == 4 && k.rank() == 4 && q.size(-1) == k.size(-1), "attention_weights",
          "expected (B, H, Tq, d) and (B, H, Tk, d), got ", q.shape(), " and ", k.shape());
  const index_t keys = k.size(-2);
  const double scale = 1 / std::sqrt(static_cast<double>(std::max<index_t>(q.size(-1), 1)));
  Tensor keep = usable(mask, q.size(-2), keys);
  if (!keep.defined()) {
    const Tensor scores = matmul(q * scale, k.transpose(-2, -1));
    return softmax(mask.bias().defined() ? scores + mask.bias().to(q.dtype()) : scores);
  }
  keep = keep.expand(broadcast_shapes("attention_weights", keep.shape(), {1, 1, 1, keys}));
  while (keep.rank() < 4) keep = keep.unsqueeze(0);
  // A key that no query uses may hold NaN, which 0 times its gradient would let through.
  const Tensor used = any(keep, {-2}, true).transpose(-1, -2);
  Tensor scores = matmul(q * scale, where(used, k, 0).transpose(-2, -1));
  if (mask.bias().defined()) {
    scores = scores + where(ne(mask.bias().detach(), -kInfinity), mask.bias(), 0).to(q.dtype());
  }
  // A row without keys would be NaN, and so would its gradient.
  const Tensor alive = any(keep, {-1}, true);
  const Tensor weights = softmax(where(logical_or(keep, logical_not(alive)), scores, -kInfinity));
  return where(alive, weights, 0);
}

}  // namespace tessera
