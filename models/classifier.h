// Classifiers of sequences, and of each token of a sequence.
//
//   models::SequenceClassifier model({
//       .token_encoder = {.vocab_size = 9000,
//                         .encoder = {.layers = repeat_layer({.d_model = 128, .nhead = 4}, 2)}},
//       .num_labels = 6,
//   });
//   Tensor scores = model({batch.ids, batch.lengths});      // (B, 6)
//
// SequenceClassifier and TokenClassifier are also the classifiers of pretrained models:
// SequenceClassifier for texts, or pairs of texts (does one follow the other); TokenClassifier for
// tokens, for the two ends of an answer, and for finding replaced tokens.
#pragma once

#include <optional>

#include "tessera/models/encoder.h"
#include "tessera/models/pooling.h"
#include "tessera/models/token_encoder.h"
#include "tessera/nn/linear.h"

namespace tessera::models {

/// The options of PredictionHead.
struct PredictionHeadOptions {
  std::optional<nn::Activation> activation = {};  // absent: tanh, as in BERT's pooler
  bool bias = true;                               // of the affine layer
  bool norm = false;  // a norm after the activation, as in the encoder's last layer
};

/// The part between an encoder and a classifier in pretrained models: `norm(activation(dense(x)))`.
///
/// **Shapes**: (..., D) -> (..., D).
/// **Parameters**: dense.weight (D, D) and, if the options request them, dense.bias, norm.weight
/// and norm.bias (D).
/// **Errors**: an unknown activation; options of the encoder as EncoderOptions::width, or with a
/// width below 1; an input of a different width or dtype.
/// **Source**: Devlin et al., "BERT", 2018, whose pooler has tanh; transformers'
/// RobertaClassificationHead (tanh), DistilBERT's pre_classifier (ReLU), ElectraClassificationHead
/// (GELU), ModernBertPredictionHead (GELU and a norm).
struct PredictionHead {
  nn::Linear dense;
  std::optional<nn::Activation> activation;
  std::optional<nn::Norm> norm;

  /// A head for the vectors of an encoder with the options `encoder`.
  PredictionHead(const PredictionHeadOptions& options, const EncoderOptions& encoder,
                 const nn::ParameterSource& from = default_rng());

  Tensor operator()(const Tensor& x) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("dense", self.dense);
    visitor("norm", self.norm);
  }
};

/// The options of SequenceClassifier.
struct SequenceClassifierOptions {
  TokenEncoderOptions token_encoder;
  index_t num_labels;
  Pooling pooling = Pooling::kMean;
  double dropout = 0.1;                            // of the classifier's input
  std::optional<PredictionHeadOptions> head = {};  // absent: the classifier reads the pooled vector
  bool head_first = false;  // the head maps each token before the pooling, not the pooled vector
};

/// `classifier(dropout(head(pooling(token_encoder(tokens)))))`: a score for each class of each
/// sequence. With `head_first`, `classifier(dropout(pooling(head(token_encoder(tokens)))))`.
///
/// With Pooling::kCls and a head with tanh (BERT's pooler), this model is transformers'
/// BertForSequenceClassification. With two classes, this model can also be BERT's next sentence
/// prediction: does the second text of a pair follow the first.
///
/// **Shapes**: Tokens of (B, T) -> (B, C).
/// **Parameters** are TokenEncoder's, those of PredictionHead with the prefix "head.", and
/// classifier.weight (C, D), classifier.bias (C).
/// **Errors**: as TokenEncoder, PredictionHead and Pooling; num_labels below 1; a dropout outside
/// [0, 1]; head_first without a head.
/// **Source**: Devlin et al., "BERT", 2018, sections 3.1 and 4.1, for the first token through a
/// pooler; Reimers and Gurevych, "Sentence-BERT", 2019, section 3, for the mean of all tokens.
struct SequenceClassifier {
  TokenEncoder token_encoder;
  Pooling pooling;
  std::optional<PredictionHead> head;
  bool head_first;
  nn::Dropout dropout;
  nn::Linear classifier;

  explicit SequenceClassifier(const SequenceClassifierOptions& options,
                              const nn::ParameterSource& from = default_rng());

  Tensor operator()(const Tokens& tokens) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  /// The scores of sequences from the output of `token_encoder`, (B, T, D). **Errors**: as Pooling;
  /// an `encoded` of a different width or dtype.
  Tensor classify(const Tensor& encoded, const Tokens& tokens) const;

  static void visit(auto& self, auto&& visitor) {
    TokenEncoder::visit(self.token_encoder, visitor);
    visitor("head", self.head);
    visitor("dropout", self.dropout);
    visitor("classifier", self.classifier);
  }
};

/// The options of TokenClassifier.
struct TokenClassifierOptions {
  TokenEncoderOptions token_encoder;
  index_t num_labels;
  double dropout = 0.1;  // of the classifier's input
  std::optional<PredictionHeadOptions> head =
      {};  // absent: the classifier reads the tokens' vectors
};

/// `classifier(dropout(head(token_encoder(tokens))))`: a score for each class of each token.
///
/// With two classes this model answers questions: the scores mark the first and the last token of
/// an answer. With one class and a head this model is ELECTRA's discriminator, which finds replaced
/// tokens.
///
/// **Shapes**: Tokens of (B, T) -> (B, T, C), zeros at padding.
/// **Parameters** are TokenEncoder's, those of PredictionHead with the prefix "head.", and
/// classifier.weight (C, D), classifier.bias (C).
/// **Errors**: as TokenEncoder and PredictionHead; num_labels below 1; a dropout outside [0, 1].
/// **Source**: Devlin et al., "BERT", 2018, sections 4.2 and 5.3; Clark et al., "ELECTRA", 2020,
/// section 2; transformers.BertForTokenClassification.
struct TokenClassifier {
  TokenEncoder token_encoder;
  std::optional<PredictionHead> head;
  nn::Dropout dropout;
  nn::Linear classifier;

  explicit TokenClassifier(const TokenClassifierOptions& options,
                           const nn::ParameterSource& from = default_rng());

  Tensor operator()(const Tokens& tokens) const;
  Tensor operator()(const Tensor& ids) const { return (*this)(Tokens{.ids = ids}); }

  static void visit(auto& self, auto&& visitor) {
    TokenEncoder::visit(self.token_encoder, visitor);
    visitor("head", self.head);
    visitor("dropout", self.dropout);
    visitor("classifier", self.classifier);
  }
};

}  // namespace tessera::models

namespace tessera::nn::detail {

/// The lists of these models' parts, which the library compiles once.
extern template void PartLister::add(models::SequenceClassifier&) const;
extern template void PartLister::add(models::TokenClassifier&) const;

}  // namespace tessera::nn::detail
