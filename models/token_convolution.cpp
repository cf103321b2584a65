#include "tessera/models/token_convolution.h"

#include "tessera/models/tokens.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

namespace {

index_t checked_size(index_t kernel_size) {
  require(kernel_size >= 1 && kernel_size % 2 == 1, "TokenConvolution",
          "kernel_size must be an odd number of tokens, got ", kernel_size);
  return kernel_size;
}

}  // namespace

TokenConvolution::TokenConvolution(const TokenConvolutionOptions& options,
                                   const EncoderLayerOptions& layer,
                                   const nn::ParameterSource& from)
    : weight(from("weight", {layer.d_model, layer.d_model, checked_size(options.kernel_size)},
                  nn::init::linear_uniform(layer.d_model * options.kernel_size))),
      bias(from("bias", {layer.d_model},
                nn::init::linear_uniform(layer.d_model * options.kernel_size))),
      norm(norm_options(layer), from["norm"]),
      activation(options.activation),
      dropout(layer.dropout) {}

Tensor TokenConvolution::operator()(const EncoderInputs& inputs, const Tensor& y) const {
  require(inputs.x.rank() == 3, "TokenConvolution", "x must have shape (B, T, D), got ",
          inputs.x.shape());
  Tensor x = inputs.unpadded.pad(inputs.x);
  if (const Tensor& lengths = inputs.mask.lengths(); lengths.defined()) {
    x = x * real_tokens(lengths, x.size(1)).to(x.dtype()).unsqueeze(2);
  }
  const index_t kernel_size = weight.size(2), tokens = x.size(1);
  const Tensor padding = zeros({x.size(0), kernel_size / 2, x.size(2)}, x.dtype());
  const Tensor padded = concat({padding, x, padding}, 1);
  Tensor sum;
  for (index_t k = 0; k < kernel_size; ++k) {
    const Tensor term =
        linear(padded.slice(1, k, k + tokens), weight.select(2, k), k == 0 ? bias : Tensor());
    sum = k == 0 ? term : sum + term;
  }
  const Tensor dropped = dropout(inputs.unpadded.unpad(sum));
  return norm(y + (activation ? nn::activate(*activation, dropped) : tanh(dropped)));
}

}  // namespace tessera::models
