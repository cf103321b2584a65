#include "models/classifier.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/reduce.h"

namespace tessera::models {

Tensor pool(Pooling pooling, const Tensor& x, const Tensor& lengths) {
  require(x.defined() && x.rank() == 3, "pool", "expected (B, T, D)",
          x.defined() ? format(", not ", x.shape()) : "");
  const index_t tokens = x.size(1);
  require(tokens > 0, "pool", "no token in ", x.shape());
  if (pooling == Pooling::kCls) return x.select(1, 0);
  if (!lengths.defined()) return pooling == Pooling::kMax ? max(x, {1}) : mean(x, {1});
  require(lengths.shape() == Shape{x.size(0)}, "pool", "lengths ", lengths.shape(), " for ",
          x.shape());
  require(all(ge(lengths, 1)).item<bool>(), "pool", "a sequence without a token");
  require(all(le(lengths, tokens)).item<bool>(), "pool", "a length above the ", tokens,
          " tokens of ", x.shape());

  const Tensor counts = lengths.unsqueeze(1);                                 // (B, 1)
  const Tensor real = lt(arange(tokens).unsqueeze(0), counts).unsqueeze(-1);  // (B, T, 1)
  if (pooling == Pooling::kMax) {
    return max(where(real, x, full({}, -std::numeric_limits<double>::infinity(), x.dtype())), {1});
  }
  return sum(where(real, x, zeros({}, x.dtype())), {1}) / counts.to(x.dtype());
}

SequenceClassifier::SequenceClassifier(const SequenceClassifierOptions& options, Rng& rng)
    : encode(options.tokens, rng),
      pooling(options.pooling),
      dropout(options.dropout),
      classifier(options.tokens.encoder.layer.d_model, options.classes, rng) {}

Tensor SequenceClassifier::operator()(const Tensor& tokens, const Tensor& lengths) const {
  return classifier(dropout(pool(pooling, encode(tokens, lengths), lengths)));
}

TokenClassifier::TokenClassifier(const TokenClassifierOptions& options, Rng& rng)
    : encode(options.tokens, rng),
      dropout(options.dropout),
      classifier(options.tokens.encoder.layer.d_model, options.classes, rng) {}

Tensor TokenClassifier::operator()(const Tensor& tokens, const Tensor& lengths) const {
  return classifier(dropout(encode(tokens, lengths)));
}

}  // namespace tessera::models
