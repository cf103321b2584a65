// Classes for sequences, and for each token of a sequence.
//
//   models::SequenceClassifier model({
//       .tokens = {.vocabulary_size = 9000,
//                  .encoder = {.layers = repeat_layer({.d_model = 128, .nhead = 4}, 2)}},
//       .classes = 6,
//   });
//   Tensor scores = model({batch.ids, batch.lengths});      // (B, 6)
#pragma once

#include "models/pooling.h"
#include "models/token_encoder.h"
#include "nn/linear.h"

namespace tessera::models {

struct SequenceClassifierOptions {
  TokenEncoderOptions tokens;
  index_t classes;
  Pooling pooling = Pooling::kMean;
  double dropout = 0.1;  // of the pooled vector
};

/// `classifier(dropout(pooling(encode(tokens))))`: a score for each class of each sequence.
///
/// **Shapes**: Tokens of (B, T) -> (B, C). Parameters are TokenEncoder's, and
/// classifier.weight (C, D), classifier.bias (C). **Errors**: as TokenEncoder; no class.
/// **Source**: Devlin et al., "BERT", 2018, section 4.1; transformers.BertForSequenceClassification.
struct SequenceClassifier {
  TokenEncoder encode;
  Pooling pooling;
  nn::Dropout dropout;
  nn::Linear classifier;

  explicit SequenceClassifier(const SequenceClassifierOptions& options, Rng& rng = default_rng());

  Tensor operator()(const Tokens& tokens) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  /// The scores of sequences that `encode` has encoded, (B, T, D).
  Tensor classify(const Tensor& encoded, const Tokens& tokens) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    TokenEncoder::visit(self.encode, visitor);
    visitor("dropout", self.dropout);
    visitor("classifier", self.classifier);
  }
};

struct TokenClassifierOptions {
  TokenEncoderOptions tokens;
  index_t classes;
  double dropout = 0.1;  // of the tokens' vectors
};

/// `classifier(dropout(encode(tokens)))`: a score for each class of each token.
///
/// **Shapes**: Tokens of (B, T) -> (B, T, C). Parameters are TokenEncoder's,
/// and classifier.weight (C, D), classifier.bias (C). **Errors**: as TokenEncoder; no class.
/// **Source**: Devlin et al., "BERT", 2018, section 5.3; transformers.BertForTokenClassification.
struct TokenClassifier {
  TokenEncoder encode;
  nn::Dropout dropout;
  nn::Linear classifier;

  explicit TokenClassifier(const TokenClassifierOptions& options, Rng& rng = default_rng());

  Tensor operator()(const Tokens& tokens) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    TokenEncoder::visit(self.encode, visitor);
    visitor("dropout", self.dropout);
    visitor("classifier", self.classifier);
  }
};

}  // namespace tessera::models
