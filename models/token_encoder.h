// Converts token ids to one vector per token: the common part of all models of text.
//
//   models::TokenEncoder encode({
//       .vocab_size = 9000,
//       .encoder = {.layers = models::repeat_layer({.d_model = 128, .nhead = 4}, 2)},
//   });
//   const Tensor y = encode({ids, lengths});      // (B, T), (B) -> (B, T, 128)
#pragma once

#include <optional>
#include <utility>

#include "tessera/models/encoder.h"
#include "tessera/models/tokens.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/positional_encoding.h"

namespace tessera::models {

/// The positions of tokens in a model.
enum class Positions {
  kSinusoidal,  // computed: Vaswani et al., 2017, section 3.5
  kLearned,     // parameters: BERT's
  kNone,        // not in the embedding: rotary positions or relative position biases in layers
};

/// The options of TokenEncoder.
struct TokenEncoderOptions {
  index_t vocab_size;
  EncoderOptions encoder;
  Positions positions = Positions::kSinusoidal;
  index_t max_positions = 512;
  std::optional<index_t> pad_token_id = {};     // learned positions skip this token
  std::optional<index_t> embedding_width = {};  // of the tables, if different from the encoder's
  index_t type_vocab_size = 0;  // rows of a table for Tokens::type_ids, BERT's 2; 0: no table
  double dropout = 0.1;         // of the embedded tokens
  bool embedding_norm = false;  // a norm before this dropout, of the last layer's kind
};

/// The vectors of tokens, by an embedding and an encoder:
///
///     x = s (embedding[ids] + type_embedding[types]) + positions
///     y = encoder(projection(dropout(norm(x))))
///
/// The factor s is sqrt(W) with sinusoidal positions, otherwise 1; W is the width of the tables,
/// `embedding_width` or D. With sinusoidal positions the embedding starts as N(0, 1 / W). So s
/// embedding[ids] has the magnitude of the sines, and an embedding tied to an output layer gives
/// scores of variance 1 to vectors whose elements have variance 1. All other tables start as N(0,
/// 0.02^2), and so does the embedding without sinusoidal positions. The norm is computed only with
/// `embedding_norm`, and the projection, a linear layer from W to D, only with `embedding_width`.
///
/// With a `pad_token_id` p and learned positions, the default positions depend on ids: p for each
/// token with id p, and p + 1, p + 2, ... for the other tokens. So the table of positions has P =
/// max_positions + p + 1 rows. Without a `pad_token_id`, P = max_positions.
///
/// **Shapes**: Tokens of (B, T) -> (B, T, D), zeros at padding, which is not computed: see Encoder.
/// B sequences of T tokens, N real tokens in all, model width D, V ids in the vocabulary.
/// **Parameters**: embeddings.word_embeddings.weight (V, W),
/// embeddings.token_type_embeddings.weight (type_vocab_size, W),
/// embeddings.position_embeddings.weight (P, W), embeddings.LayerNorm.weight and .bias (W) as in
/// BERT, embeddings.projection.weight (D, W) and .bias (D),
/// encoder.layers.0.self_attn.in_proj_weight, ... as in PyTorch.
/// **Errors**: as Encoder; sizes below 1; a negative type_vocab_size; a dropout outside
/// [0, 1]; Tokens of different shapes or dtypes; a length outside 1 .. T; ids, types and positions
/// outside their tables; if the embedding has positions and none are given, more tokens than
/// max_positions; types without a table of types; an encoder with batch_first = false; a
/// pad_token_id outside [0, V), or without learned positions.
/// **Source**: Vaswani et al., 2017, section 3.4; Devlin et al., "BERT", 2018, figure 2; Lan et
/// al., "ALBERT", 2020, section 3.1, for embedding_width; transformers.RobertaModel for
/// pad_token_id.
struct TokenEncoder {
  /// The parts that turn tokens into vectors.
  struct Embeddings {
    nn::Embedding word;
    std::optional<nn::Embedding> type;
    std::optional<nn::PositionalEncoding> sinusoidal;
    std::optional<nn::LearnedPositionalEncoding> learned;
    std::optional<nn::Norm> norm;
    nn::Dropout dropout;
    std::optional<nn::Linear> projection;
    std::optional<index_t> pad_token_id;

    Embeddings(const TokenEncoderOptions& options, const nn::ParameterSource& from);
    /// The input of the encoder, (B, T, D), or (1, N, D) for unpadded tokens.
    Tensor operator()(const Tokens& tokens, const UnpaddedRows& unpadded = {}) const;

    static void visit(auto& self, auto&& visitor) {
      visitor("word_embeddings", self.word);
      visitor("token_type_embeddings", self.type);
      visitor("position_embeddings", self.sinusoidal);
      visitor("position_embeddings", self.learned);
      visitor("LayerNorm", self.norm);
      visitor("dropout", self.dropout);
      visitor("projection", self.projection);
    }
  };

  Embeddings embeddings;
  Encoder encoder;

  explicit TokenEncoder(const TokenEncoderOptions& options,
                        const nn::ParameterSource& from = default_rng());

  Tensor operator()(const Tokens& tokens) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  /// The output before it is padded, for layers that compute token by token: the vectors of real
  /// tokens, (1, N, D), or of all tokens, (B, T, D), if nothing is unpadded.
  std::pair<Tensor, UnpaddedRows> unpadded(const Tokens& tokens) const;

  /// The output together with the requested attention weights, by default of every layer.
  /// **Errors**: also a layer, head or query that does not exist.
  EncoderResult with_attentions(const Tokens& tokens, const AttentionRequest& request = {}) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("embeddings", self.embeddings);
    visitor("encoder", self.encoder);
  }
};

}  // namespace tessera::models

namespace tessera::nn::detail {

/// The list of this model's parts, which the library compiles once.
extern template void PartLister::add(models::TokenEncoder&) const;

}  // namespace tessera::nn::detail
