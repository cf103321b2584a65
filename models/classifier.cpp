#include "models/classifier.h"

#include "nn/check.h"

namespace tessera::models {

namespace {

template <class Options>
const Options& checked(const char* op, const Options& options) {
  nn::detail::require_size(op, "classes", options.classes);
  nn::detail::require_probability(op, "dropout", options.dropout);
  return options;
}

}  // namespace

SequenceClassifier::SequenceClassifier(const SequenceClassifierOptions& options, Rng& rng)
    : encode(checked("SequenceClassifier", options).tokens, rng),
      pooling(options.pooling),
      dropout(options.dropout),
      classifier(options.tokens.encoder.width(), options.classes, rng) {}

Tensor SequenceClassifier::operator()(const Tokens& tokens) const {
  return classify(encode(tokens), tokens);
}

Tensor SequenceClassifier::classify(const Tensor& encoded, const Tokens& tokens) const {
  return classifier(dropout(pooling(encoded, tokens)));
}

TokenClassifier::TokenClassifier(const TokenClassifierOptions& options, Rng& rng)
    : encode(checked("TokenClassifier", options).tokens, rng),
      dropout(options.dropout),
      classifier(options.tokens.encoder.width(), options.classes, rng) {}

Tensor TokenClassifier::operator()(const Tokens& tokens) const {
  return classifier(dropout(encode(tokens)));
}

}  // namespace tessera::models
