// A convolution over tokens, for the largest DeBERTa-v2 models.
#pragma once

#include <optional>

#include "tessera/models/encoder_layer.h"
#include "tessera/nn/dropout.h"
#include "tessera/nn/norm.h"

namespace tessera::models {

/// The options of TokenConvolution.
struct TokenConvolutionOptions {
  index_t kernel_size = 3;                        // an odd number of tokens
  std::optional<nn::Activation> activation = {};  // absent: tanh
};

/// norm(y + activation(dropout(convolution(x)))), with the weight and the bias of a torch.nn.Conv1d
/// with zero padding, so that the number of tokens stays the same. Tokens after a length count as
/// 0.
///
/// **Shapes**: x, in `inputs`, and y (B, T, D), or unpadded rows (1, N, D) -> the same.
/// **Parameters**: weight (D, D, kernel_size), bias (D), norm.weight and norm.bias (D); weight and
/// bias start as those of torch.nn.Conv1d.
/// **Errors**: an even kernel_size; inputs without a batch axis.
/// **Source**: transformers.models.deberta_v2.ConvLayer.
struct TokenConvolution {
  Tensor weight;
  Tensor bias;
  nn::Norm norm;
  std::optional<nn::Activation> activation;
  nn::Dropout dropout;

  /// For the vectors of layers with the options `layer`, whose norm and dropout it has too.
  TokenConvolution(const TokenConvolutionOptions& options, const EncoderLayerOptions& layer,
                   const nn::ParameterSource& from = default_rng());

  Tensor operator()(const EncoderInputs& inputs, const Tensor& y) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
    visitor("norm", self.norm);
    visitor("dropout", self.dropout);
  }
};

}  // namespace tessera::models
