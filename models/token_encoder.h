// From token numbers to one vector a token: what all models of text have in common.
#pragma once

#include <optional>

#include "models/encoder.h"
#include "nn/embedding.h"
#include "nn/positional_encoding.h"

namespace tessera::models {

/// How tokens are told their places.
enum class Positions {
  kSinusoidal,  // computed: Vaswani et al., 2017, section 3.5
  kLearned,     // parameters: BERT's
};

struct TokenEncoderOptions {
  index_t vocabulary_size;
  EncoderOptions encoder;
  Positions positions = Positions::kSinusoidal;
  index_t max_tokens = 512;
  double embedding_scale = 1;   // of the embeddings at first, beside the sines
  double dropout = 0.1;         // of the embedded tokens
  bool embedding_norm = false;  // a norm on them, as the encoder's last one
};

/// `encoder(dropout(embedding[tokens] + positions))`.
///
/// With sinusoidal positions the embedding starts as N(0, s^2 / D), s being `embedding_scale`, and
/// is multiplied by sqrt(D) where it is read, so that with s = 1 it is as large as the sines and,
/// tied to an output layer, gives scores of variance 1. A smaller s is for few examples: the random
/// start of rare words, which training hardly changes, disturbs less. With learned positions both
/// tables start as N(0, 0.02^2). With `embedding_norm` the sum is normalised before the dropout.
///
/// **Shapes**: tokens (B, T) int64, lengths (B) int64 -> (B, T, D). What lies behind a length is
/// padding: no real token sees it, and it changes no bit of theirs. Without lengths all is real.
/// Parameters are called embeddings.word_embeddings.weight (V, D),
/// embeddings.position_embeddings.weight (P, D), embeddings.LayerNorm.weight and .bias (D) as
/// BERT's, encoder.layers.0.self_attn.in_proj_weight, ... as PyTorch's.
/// **Errors**: sizes below 1; tokens of another rank, dtype or outside [0, V), or more than
/// max_tokens of them; lengths that are not B numbers from 1 to T; an encoder with batch_first =
/// false; an embedding_scale that is not finite and above 0, with sinusoidal positions.
/// **Source**: Vaswani et al., 2017, section 3.4; Devlin et al., "BERT", 2018, figure 2.
struct TokenEncoder {
  struct Embeddings {
    nn::Embedding word;
    std::optional<nn::PositionalEncoding> sinusoidal;
    std::optional<nn::LearnedPositionalEncoding> learned;
    std::optional<nn::LayerNorm> norm;
    nn::Dropout dropout;

    Embeddings(const TokenEncoderOptions& options, Rng& rng);
    Tensor operator()(const Tensor& tokens) const;

    template <class Self, class Visitor>
    static void visit(Self& self, Visitor&& visitor) {
      visitor("word_embeddings", self.word);
      visitor("position_embeddings", self.sinusoidal);
      visitor("position_embeddings", self.learned);
      visitor("LayerNorm", self.norm);
      visitor("dropout", self.dropout);
    }
  };

  Embeddings embeddings;
  Encoder encoder;

  explicit TokenEncoder(const TokenEncoderOptions& options, Rng& rng = default_rng());

  Tensor operator()(const Tensor& tokens, const Tensor& lengths = {}) const;

  /// The output together with the attention weights requested, of every layer unless it chooses.
  EncoderTrace with_weights(const Tensor& tokens, const Tensor& lengths = {},
                            const AttentionRequest& request = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("embeddings", self.embeddings);
    visitor("encoder", self.encoder);
  }
};

}  // namespace tessera::models
