#include "models/head.h"

#include "tensor/error.h"
#include "tensor/ops/unary.h"

namespace tessera::models {

namespace {

const HeadOptions& checked(const HeadOptions& options) {
  require_enum("Head", "activation", options.activation.value_or(nn::Activation::kNone),
               nn::Activation::kSilu);
  return options;
}

}  // namespace

Head::Head(const HeadOptions& options, const EncoderOptions& encoder, const nn::Source& from)
    : dense({.in_features = encoder.width(),
             .out_features = encoder.width(),
             .bias = checked(options).bias},
            from["dense"]),
      activation(options.activation) {
  if (options.norm) norm.emplace(norm_options(encoder), from["norm"]);
}

Tensor Head::operator()(const Tensor& x) const {
  const Tensor h = activation ? dense(x, *activation) : tanh(dense(x));
  return norm ? (*norm)(h) : h;
}

}  // namespace tessera::models
