// The part between an encoder and a classifier in pretrained models.
#pragma once

#include <optional>

#include "models/encoder.h"
#include "nn/linear.h"

namespace tessera::models {

struct HeadOptions {
  std::optional<nn::Activation> activation = {};  // absent: tanh, as BERT's pooler
  bool bias = true;                               // of the affine layer
  bool norm = false;                              // after it, of the last layer's kind
};

/// `norm(activation(dense(x)))`.
///
/// **Shapes**: (..., D) -> (..., D). Parameters are called dense.weight (D, D), dense.bias (D),
/// norm.weight and norm.bias (D), as far as the options want them.
/// **Source**: Devlin et al., "BERT", 2018, whose pooler is one with tanh; transformers'
/// RobertaClassificationHead (tanh), DistilBERT's pre_classifier (ReLU), ElectraClassificationHead
/// (GELU), ModernBertPredictionHead (GELU and a norm).
struct Head {
  nn::Linear dense;
  std::optional<nn::Activation> activation;
  std::optional<nn::Norm> norm;

  /// A head on the vectors of an encoder with these options.
  Head(const HeadOptions& options, const EncoderOptions& encoder,
       const nn::Source& from = default_rng());

  Tensor operator()(const Tensor& x) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("dense", self.dense);
    visitor("norm", self.norm);
  }
};

}  // namespace tessera::models
