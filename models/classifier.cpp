#include "models/classifier.h"

#include <limits>

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/reduce.h"

namespace tessera::models {

namespace {

/// Which tokens of x are real, (B, T, 1).
Tensor real_tokens(const Tensor& x, const Tensor& lengths) {
  const index_t tokens = x.size(1);
  require(lengths.shape() == Shape{x.size(0)}, "pool", "lengths ", lengths.shape(), " for ",
          x.shape());
  require(all(ge(lengths, 1)).item<bool>(), "pool", "a sequence without a token");
  require(all(le(lengths, tokens)).item<bool>(), "pool", "a length above the ", tokens,
          " tokens of ", x.shape());
  return lt(arange(tokens).unsqueeze(0), lengths.unsqueeze(1)).unsqueeze(-1);
}

/// x with `value` in the place of padding.
Tensor padded_with(double value, const Tensor& x, const Tensor& lengths) {
  return where(real_tokens(x, lengths), x, full({}, value, x.dtype()));
}

}  // namespace

Tensor pool(Pooling pooling, const Tensor& x, const Tensor& lengths) {
  require(x.defined() && x.rank() == 3, "pool", "expected (B, T, D)",
          x.defined() ? format(", not ", x.shape()) : "");
  require(x.size(1) > 0, "pool", "no token in ", x.shape());
  switch (pooling) {
    case Pooling::kCls:
      return x.select(1, 0);
    case Pooling::kMax: {
      constexpr double kLowest = -std::numeric_limits<double>::infinity();
      return max(lengths.defined() ? padded_with(kLowest, x, lengths) : x, {1});
    }
    case Pooling::kMean:
      if (!lengths.defined()) return mean(x, {1});
      return sum(padded_with(0, x, lengths), {1}) / lengths.unsqueeze(1).to(x.dtype());
  }
  fail("pool", "no such pooling");
}

namespace {

template <class Options>
const Options& checked(const char* op, const Options& options) {
  nn::detail::require_size(op, "classes", options.classes);
  nn::detail::require_probability(op, "dropout", options.dropout);
  return options;
}

}  // namespace

SequenceClassifier::SequenceClassifier(const SequenceClassifierOptions& options, Rng& rng)
    : encode(checked("SequenceClassifier", options).tokens, rng),
      pooling(options.pooling),
      dropout(options.dropout),
      classifier(options.tokens.encoder.width(), options.classes, rng) {}

Tensor SequenceClassifier::operator()(const Tensor& tokens, const Tensor& lengths) const {
  return classifier(dropout(pool(pooling, encode(tokens, lengths), lengths)));
}

TokenClassifier::TokenClassifier(const TokenClassifierOptions& options, Rng& rng)
    : encode(checked("TokenClassifier", options).tokens, rng),
      dropout(options.dropout),
      classifier(options.tokens.encoder.width(), options.classes, rng) {}

Tensor TokenClassifier::operator()(const Tensor& tokens, const Tensor& lengths) const {
  return classifier(dropout(encode(tokens, lengths)));
}

}  // namespace tessera::models
