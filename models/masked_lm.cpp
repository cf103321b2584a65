#include "models/masked_lm.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/indexing.h"

namespace tessera::models {

namespace {

/// A norm of the last layer's kind, along another axis than the encoder's vectors have.
nn::Norm norm_of_width(index_t width, const EncoderOptions& encoder) {
  const nn::Norm norm = make_norm(encoder);
  return nn::Norm(
      {.width = width, .kind = norm.kind, .eps = norm.eps, .bias = norm.bias.defined()});
}

MaskedLm::Transform make_transform(const MaskedLmOptions& options, index_t embedding_width,
                                   Rng& rng) {
  require_enum("MaskedLm", "activation", options.activation, nn::Activation::kSilu);
  const EncoderOptions& encoder = options.tokens.encoder;
  return {.dense = nn::Linear({.in_features = encoder.width(),
                               .out_features = embedding_width,
                               .bias = options.dense_bias},
                              rng),
          .norm = norm_of_width(embedding_width, encoder),
          .activation = options.activation};
}

}  // namespace

MaskedLm::MaskedLm(const MaskedLmOptions& options, Rng& rng)
    : encode(options.tokens, rng),
      transform(make_transform(options, encode.embeddings.word.weight.size(1), rng)) {
  if (options.bias) bias = zeros({options.tokens.vocabulary_size});
  if (!options.tied) decoder = encode.embeddings.word.weight->clone();
}

Tensor MaskedLm::operator()(const Tokens& tokens, const Tensor& places) const {
  if (places.defined()) return score(index_select(encode(tokens).flatten(0, 1), 0, places));
  const auto [x, packed] = encode.packed(tokens);
  return packed.unpack(score(x));
}

Tensor MaskedLm::score(const Tensor& encoded) const {
  const Weight& weight = decoder.defined() ? decoder : encode.embeddings.word.weight;
  return linear(transform(encoded), weight, bias);
}

}  // namespace tessera::models
