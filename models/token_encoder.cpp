#include "models/token_encoder.h"

#include <cmath>

#include "models/lengths.h"
#include "nn/check.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::models {

namespace {

constexpr const char* kOp = "TokenEncoder";
constexpr double kLearnedStd = 0.02;

AttentionMask mask_of(const Tensor& tokens, const Tensor& lengths) {
  check_lengths(kOp, tokens, lengths);
  return lengths.defined() ? length_mask(lengths) : AttentionMask();
}

const TokenEncoderOptions& checked(const TokenEncoderOptions& options) {
  nn::detail::require_size(kOp, "vocabulary_size", options.vocabulary_size);
  nn::detail::require_size(kOp, "d_model", options.encoder.width());
  nn::detail::require_size(kOp, "max_tokens", options.max_tokens);
  nn::detail::require_probability(kOp, "dropout", options.dropout);
  return options;
}

}  // namespace

TokenEncoder::Embeddings::Embeddings(const TokenEncoderOptions& options, Rng& rng)
    : word(checked(options).vocabulary_size, options.encoder.width(), rng),
      dropout(options.dropout) {
  const index_t width = options.encoder.width();
  const double scale = std::sqrt(static_cast<double>(width));
  switch (options.positions) {
    case Positions::kSinusoidal:
      require(options.embedding_scale > 0 && std::isfinite(options.embedding_scale), kOp,
              "embedding_scale must be a number above 0, not ", options.embedding_scale);
      word.weight = word.weight * (options.embedding_scale / scale);
      sinusoidal.emplace(nn::PositionalEncodingOptions{
          .d_model = width, .max_tokens = options.max_tokens, .input_scale = scale});
      break;
    case Positions::kLearned:
      word.weight = word.weight * kLearnedStd;
      learned.emplace(options.max_tokens, width, rng);
      break;
  }
  require(sinusoidal || learned, kOp, "no such kind of positions");
  if (options.embedding_norm) norm.emplace(make_norm(options.encoder));
}

Tensor TokenEncoder::Embeddings::operator()(const Tensor& tokens) const {
  const Tensor x = word(tokens);
  const Tensor placed = sinusoidal ? (*sinusoidal)(x) : (*learned)(x);
  return dropout(norm ? (*norm)(placed) : placed);
}

TokenEncoder::TokenEncoder(const TokenEncoderOptions& options, Rng& rng)
    : embeddings(options, rng), encoder(options.encoder, rng) {
  for (const EncoderLayerOptions& layer : options.encoder.layers) {
    require(layer.batch_first, kOp, "the encoder must have the batch first");
  }
}

Tensor TokenEncoder::operator()(const Tensor& tokens, const Tensor& lengths) const {
  const AttentionMask mask = mask_of(tokens, lengths);
  return encoder(embeddings(tokens), mask);
}

EncoderTrace TokenEncoder::with_weights(const Tensor& tokens, const Tensor& lengths,
                                        const AttentionRequest& request) const {
  const AttentionMask mask = mask_of(tokens, lengths);
  return encoder.with_weights(embeddings(tokens), mask, request);
}

}  // namespace tessera::models
