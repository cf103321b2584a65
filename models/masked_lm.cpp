#include "tessera/models/masked_lm.h"

#include "tessera/nn/hook.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera::models {

namespace {

std::optional<MaskedLM::Transform> make_transform(const MaskedLMOptions& options,
                                                  index_t embedding_width,
                                                  const nn::ParameterSource& from) {
  require_enum("MaskedLM", "activation", options.activation, nn::Activation::kSilu);
  const EncoderOptions& encoder = options.token_encoder.encoder;
  if (!options.transform) {
    require(embedding_width == encoder.width(), "MaskedLM",
            "transform must be true if the embedding is ", embedding_width,
            " wide and the encoder ", encoder.width(), ", got false");
    return {};
  }
  nn::NormOptions norm = norm_options(encoder);
  norm.width = embedding_width;
  const nn::LinearOptions dense = {
      .in_features = encoder.width(), .out_features = embedding_width, .bias = options.dense_bias};
  return MaskedLM::Transform{.dense = nn::Linear(dense, from["dense"]),
                             .norm = nn::Norm(norm, from["LayerNorm"]),
                             .activation = options.activation};
}

}  // namespace

MaskedLM::MaskedLM(const MaskedLMOptions& options, const nn::ParameterSource& from)
    : token_encoder(options.token_encoder, from),
      transform(make_transform(options, token_encoder.embeddings.word.weight.size(1),
                               from["cls.predictions.transform"])) {
  const Tensor& words = token_encoder.embeddings.word.weight;
  if (options.bias) {
    bias = from("cls.predictions.bias", {options.token_encoder.vocab_size}, nn::init::constant(0));
  }
  if (!options.tied) {
    decoder = from("cls.predictions.decoder.weight", words.shape(),
                   [&](const Shape&, Rng&) { return words.clone(); });
  }
}

Tensor MaskedLM::operator()(const Tokens& tokens, const Tensor& places) const {
  if (places.defined()) return logits(index_select(token_encoder(tokens).flatten(0, 1), 0, places));
  const auto [x, unpadded] = token_encoder.unpadded(tokens);
  const nn::HookedRows rows(unpadded);
  return unpadded.pad(logits(x));
}

Tensor MaskedLM::logits(const Tensor& encoded) const {
  const Weight& weight = decoder.defined() ? decoder : token_encoder.embeddings.word.weight;
  const Tensor read = transform ? nn::hooked("head", (*transform)(encoded)) : encoded;
  return nn::hooked("logits", linear(read, weight, bias));
}

}  // namespace tessera::models

namespace tessera::nn::detail {

template void PartLister::add(models::MaskedLM&) const;

}  // namespace tessera::nn::detail
