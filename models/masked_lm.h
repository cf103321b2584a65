// A masked language model, which predicts the tokens at hidden positions.
//
//   const text::MaskedTokens hidden = text::mask_tokens(batch.ids, special, vocab_size, rng);
//   const Tensor places = text::places_of(hidden.labels);
//   const Tensor scores = model({hidden.ids, batch.lengths}, places);      // (n, V)
//   Tensor loss = nn::cross_entropy(scores, index_select(hidden.labels.flatten(), 0, places));
#pragma once

#include <optional>

#include "tessera/models/token_encoder.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"

namespace tessera::models {

/// The options of MaskedLM.
struct MaskedLMOptions {
  TokenEncoderOptions token_encoder;
  nn::Activation activation = nn::Activation::kGelu;
  bool transform = true;  // false: no dense layer and no norm
  bool dense_bias = true;
  bool bias = true;  // of the scores
  bool tied = true;  // false: the scores have their own matrix, at first a copy of the embedding
};

/// A score for each token of the vocabulary, at each position:
///
///     h = norm(activation(dense(token_encoder(tokens)))),    scores = h E^T + bias
///
/// and h = token_encoder(tokens) if `transform` is false. By default the activation is gelu. The
/// norm is of the last layer's kind. Unless `tied` is false, the matrix E is the embedding of the
/// tokens itself, so the gradients of both uses add up in one parameter with one name. dense maps
/// from the width D of the encoder's vectors to the width W of the embeddings, which is smaller in
/// ALBERT.
///
/// **Shapes**: Tokens of (B, T) -> (B, T, V), zeros at padding. With `places` (n) int64 -> (n, V):
/// only the scores of the tokens at these places are computed; the place of token t of sequence b
/// is b T + t.
/// **Parameters** are TokenEncoder's, and cls.predictions.transform.dense.weight (W, D), .bias (W),
/// cls.predictions.transform.LayerNorm.weight, .bias (W), cls.predictions.bias (V), as in BERT.
/// BERT's cls.predictions.decoder.weight is embeddings.word_embeddings.weight, unless `tied` is
/// false.
/// **Errors**: as TokenEncoder; an unknown activation; places that are not int64 with one axis; a
/// place outside [0, B T); transform = false with an embedding whose width W is not D.
/// **Source**: Devlin et al., "BERT", 2018, section 3.1; transformers.BertForMaskedLM; Press and
/// Wolf, "Using the output embedding to improve language models", 2017, for the tied weights.
struct MaskedLM {
  /// dense, an activation, and a norm of the last layer's kind.
  struct Transform {
    nn::Linear dense;
    nn::Norm norm;
    nn::Activation activation;

    Tensor operator()(const Tensor& x) const { return norm(dense(x, activation)); }

    static void visit(auto& self, auto&& visitor) {
      visitor("dense", self.dense);
      visitor("LayerNorm", self.norm);
    }
  };

  TokenEncoder token_encoder;
  std::optional<Transform> transform;
  Tensor bias;     // undefined without bias
  Weight decoder;  // (V, W); undefined if the embedding is used instead

  explicit MaskedLM(const MaskedLMOptions& options,
                    const nn::ParameterSource& from = default_rng());

  Tensor operator()(const Tokens& tokens, const Tensor& places = {}) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  /// The scores for vectors from the output of `token_encoder`, (..., D) -> (..., V). **Errors**:
  /// an `encoded` of a different width or dtype.
  Tensor logits(const Tensor& encoded) const;

  static void visit(auto& self, auto&& visitor) {
    TokenEncoder::visit(self.token_encoder, visitor);
    visitor("cls.predictions.transform", self.transform);
    visitor("cls.predictions.bias", self.bias);
    visitor("cls.predictions.decoder.weight", self.decoder);
  }
};

}  // namespace tessera::models

namespace tessera::nn::detail {

/// The list of this model's parts, which the library compiles once.
extern template void PartLister::add(models::MaskedLM&) const;

}  // namespace tessera::nn::detail
