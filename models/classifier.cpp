#include "tessera/models/classifier.h"

#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::models {

namespace {

const PredictionHeadOptions& checked(const PredictionHeadOptions& options) {
  require_enum("PredictionHead", "activation", options.activation.value_or(nn::Activation::kNone),
               nn::Activation::kSilu);
  return options;
}

}  // namespace

PredictionHead::PredictionHead(const PredictionHeadOptions& options, const EncoderOptions& encoder,
                               const nn::ParameterSource& from)
    : dense({.in_features = encoder.width(),
             .out_features = encoder.width(),
             .bias = checked(options).bias},
            from["dense"]),
      activation(options.activation) {
  if (options.norm) norm.emplace(norm_options(encoder), from["norm"]);
}

Tensor PredictionHead::operator()(const Tensor& x) const {
  const Tensor h = activation ? dense(x, *activation) : tanh(dense(x));
  return norm ? (*norm)(h) : h;
}

namespace {

std::optional<PredictionHead> make_head(const std::optional<PredictionHeadOptions>& options,
                                        const EncoderOptions& encoder,
                                        const nn::ParameterSource& from) {
  if (!options) return {};
  return PredictionHead(*options, encoder, from);
}

template <class Options>
const Options& checked(const char* op, const Options& options) {
  nn::detail::require_size(op, "num_labels", options.num_labels);
  nn::detail::require_probability(op, "dropout", options.dropout);
  return options;
}

bool checked_head_first(const SequenceClassifierOptions& options) {
  require(!options.head_first || options.head, "SequenceClassifier",
          "head must be present with head_first, got none");
  return options.head_first;
}

}  // namespace

SequenceClassifier::SequenceClassifier(const SequenceClassifierOptions& options,
                                       const nn::ParameterSource& from)
    : token_encoder(checked("SequenceClassifier", options).token_encoder, from),
      pooling(options.pooling),
      head(make_head(options.head, options.token_encoder.encoder, from["head"])),
      head_first(checked_head_first(options)),
      dropout(options.dropout),
      classifier(options.token_encoder.encoder.width(), options.num_labels, from["classifier"]) {}

Tensor SequenceClassifier::operator()(const Tokens& tokens) const {
  return classify(token_encoder(tokens), tokens);
}

Tensor SequenceClassifier::classify(const Tensor& encoded, const Tokens& tokens) const {
  const auto apply_head = [&](const Tensor& x) {
    return head ? nn::hooked("head", (*head)(x)) : x;
  };
  const Tensor read = head_first ? apply_head(encoded) : encoded;
  const Tensor pooled = nn::hooked("pooled", pooling(read, tokens));
  return nn::hooked("logits", classifier(dropout(head_first ? pooled : apply_head(pooled))));
}

TokenClassifier::TokenClassifier(const TokenClassifierOptions& options,
                                 const nn::ParameterSource& from)
    : token_encoder(checked("TokenClassifier", options).token_encoder, from),
      head(make_head(options.head, options.token_encoder.encoder, from["head"])),
      dropout(options.dropout),
      classifier(options.token_encoder.encoder.width(), options.num_labels, from["classifier"]) {}

Tensor TokenClassifier::operator()(const Tokens& tokens) const {
  const auto [x, unpadded] = token_encoder.unpadded(tokens);
  const nn::HookedRows rows(unpadded);
  const Tensor read = head ? nn::hooked("head", (*head)(x)) : x;
  return unpadded.pad(nn::hooked("logits", classifier(dropout(read))));
}

}  // namespace tessera::models

namespace tessera::nn::detail {

template void PartLister::add(models::SequenceClassifier&) const;
template void PartLister::add(models::TokenClassifier&) const;

}  // namespace tessera::nn::detail
