#include "tessera/models/pooling.h"

#include <array>
#include <limits>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

namespace {

/// x with padding replaced by `value`.
Tensor padded_with(double value, const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return x;
  const Tensor real = real_tokens(tokens.lengths, x.size(1)).unsqueeze(-1);
  return where(real, x, full({}, value, x.dtype()));
}

Tensor pool_mean(const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return mean(x, {1});
  return sum(padded_with(0, x, tokens), {1}) / tokens.lengths.unsqueeze(1).to(x.dtype());
}

/// The number of real tokens of each row, (B, 1) or (1, 1).
Tensor counts(const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return full({1, 1}, static_cast<double>(x.size(1)), x.dtype());
  return tokens.lengths.unsqueeze(1).to(x.dtype());
}

Tensor pool_mean_sqrt_length(const Tensor& x, const Tokens& tokens) {
  return sum(padded_with(0, x, tokens), {1}) / sqrt(counts(x, tokens));
}

Tensor pool_weighted_mean(const Tensor& x, const Tokens& tokens) {
  const Tensor positions = tokens.positions.defined() ? tokens.positions : arange(x.size(1));
  Tensor weights = (positions + 1).to(x.dtype()).unsqueeze(-1);  // (B, T, 1) or (T, 1)
  if (weights.rank() == 2) weights = weights.unsqueeze(0);
  return sum(padded_with(0, x, tokens) * weights, {1}) / sum(padded_with(0, weights, tokens), {1});
}

Tensor pool_last(const Tensor& x, const Tokens& tokens) {
  if (!tokens.lengths.defined()) return x.select(1, -1);
  const Tensor last = (tokens.lengths - 1).unsqueeze(-1).unsqueeze(-1);
  return gather(x, 1, last.expand({x.size(0), 1, x.size(2)})).squeeze(1);
}

Tensor pool_cls(const Tensor& x, const Tokens&) {
  return x.select(1, 0);
}

Tensor pool_max(const Tensor& x, const Tokens& tokens) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  return max(padded_with(kLowest, x, tokens), {1});
}

constexpr std::array<Pooling, 6> kPoolings = {{{"mean", pool_mean},
                                               {"cls", pool_cls},
                                               {"max", pool_max},
                                               {"mean_sqrt_len_tokens", pool_mean_sqrt_length},
                                               {"weightedmean", pool_weighted_mean},
                                               {"lasttoken", pool_last}}};

}  // namespace

constinit const Pooling Pooling::kMean = kPoolings[0];
constinit const Pooling Pooling::kCls = kPoolings[1];
constinit const Pooling Pooling::kMax = kPoolings[2];
constinit const Pooling Pooling::kMeanSqrtLength = kPoolings[3];
constinit const Pooling Pooling::kWeightedMean = kPoolings[4];
constinit const Pooling Pooling::kLast = kPoolings[5];

std::span<const Pooling> Pooling::all() {
  return kPoolings;
}

const Pooling& Pooling::named(std::string_view name) {
  std::string names;
  for (const Pooling& pooling : kPoolings) {
    if (pooling.name == name) return pooling;
    names += (names.empty() ? "" : ", ") + std::string(pooling.name);
  }
  fail("Pooling", "the name must be one of ", names, ", got ", printable(name));
}

Tensor Pooling::operator()(const Tensor& x, const Tokens& tokens) const {
  constexpr const char* kRule = "x must have shape (B, T, D) with at least 1 token, got ";
  require(function != nullptr, "pool", "the pooling must have a function, got a null pointer");
  require(x.defined(), "pool", kRule, "an undefined tensor");
  require(x.rank() == 3 && x.size(1) > 0, "pool", kRule, x.shape());
  check_tokens("pool", tokens, {x.size(0), x.size(1)});
  return function(x, tokens);
}

}  // namespace tessera::models
