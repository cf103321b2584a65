#include "models/pooling.h"

#include <array>
#include <limits>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/reduce.h"

namespace tessera::models {

namespace {

/// x with `value` in the place of padding.
Tensor padded_with(double value, const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return x;
  const Tensor real = real_tokens(tokens.lengths, x.size(1)).unsqueeze(-1);
  return where(real, x, full({}, value, x.dtype()));
}

Tensor pool_mean(const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return mean(x, {1});
  return sum(padded_with(0, x, tokens), {1}) / tokens.lengths.unsqueeze(1).to(x.dtype());
}

Tensor pool_cls(const Tensor& x, const Tokens&) {
  return x.select(1, 0);
}

Tensor pool_max(const Tensor& x, const Tokens& tokens) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  return max(padded_with(kLowest, x, tokens), {1});
}

constexpr std::array<Pooling, 3> kPoolings = {
    {{"mean", pool_mean}, {"cls", pool_cls}, {"max", pool_max}}};

}  // namespace

constinit const Pooling Pooling::kMean = kPoolings[0];
constinit const Pooling Pooling::kCls = kPoolings[1];
constinit const Pooling Pooling::kMax = kPoolings[2];

std::span<const Pooling> Pooling::all() {
  return kPoolings;
}

const Pooling& Pooling::named(std::string_view name) {
  std::string names;
  for (const Pooling& pooling : kPoolings) {
    if (pooling.name == name) return pooling;
    names += (names.empty() ? "" : ", ") + std::string(pooling.name);
  }
  fail("Pooling", "no pooling is called ", name, "; there are ", names);
}

Tensor Pooling::operator()(const Tensor& x, const Tokens& tokens) const {
  require(function != nullptr, "pool", "no such pooling");
  require(x.defined() && x.rank() == 3, "pool", "expected (B, T, D)",
          x.defined() ? format(", not ", x.shape()) : "");
  require(x.size(1) > 0, "pool", "no token in ", x.shape());
  check_tokens("pool", tokens, {x.size(0), x.size(1)});
  return function(x, tokens);
}

}  // namespace tessera::models
