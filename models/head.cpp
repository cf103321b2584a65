#include "models/head.h"

#include "tensor/ops/unary.h"

namespace tessera::models {

Head::Head(const HeadOptions& options, const EncoderOptions& encoder, Rng& rng)
    : dense({.in_features = encoder.width(), .out_features = encoder.width(), .bias = options.bias},
            rng),
      activation(options.activation) {
  if (options.norm) norm.emplace(make_norm(encoder));
}

Tensor Head::operator()(const Tensor& x) const {
  const Tensor h = activation ? dense(x, *activation) : tanh(dense(x));
  return norm ? (*norm)(h) : h;
}

}  // namespace tessera::models
