#include "tessera/models/token_encoder.h"

#include <cmath>
#include <vector>

#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::models {

namespace {

constexpr const char* kTokenEncoderOp = "TokenEncoder";
constexpr double kLearnedStd = 0.02;

UnpaddedRows checked_unpadding(const Tokens& tokens) {
  check_tokens(kTokenEncoderOp, tokens);
  return unpadding_of(tokens.lengths, tokens.ids.size(1));
}

/// RoBERTa's positions, (B, T): for padding, the padding token's id; for each other token, that
/// number plus the count of other tokens up to this one.
Tensor counted_positions(const Tensor& ids, index_t padding, index_t max_positions) {
  std::vector<index_t> numbers = ids.to_vector<index_t>();
  const auto length = static_cast<std::size_t>(ids.size(-1));
  index_t others = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % length == 0) others = 0;
    const bool is_padding = numbers[i] == padding;
    if (!is_padding) ++others;
    require(others <= max_positions, kTokenEncoderOp, "each sequence must have at most ",
            max_positions, " tokens (max_positions) besides padding, got ", others);
    numbers[i] = padding + (is_padding ? 0 : others);
  }
  return from_vector(numbers, ids.shape());
}

/// The width of the tables.
index_t embedding_width(const TokenEncoderOptions& options) {
  return options.embedding_width.value_or(options.encoder.width());
}

/// The rows of a table of learned positions.
index_t position_rows(const TokenEncoderOptions& options) {
  return options.max_positions + (options.pad_token_id ? *options.pad_token_id + 1 : 0);
}

/// Checks numbers, if given, that choose rows of a table: embedding() would call them ids.
void check_rows(const char* what, const Tensor& numbers, index_t rows) {
  if (!numbers.defined() || numbers.count() == 0) return;
  for (const Tensor& number : {min(numbers), max(numbers)}) {
    const auto value = number.item<index_t>();
    require(0 <= value && value < rows, kTokenEncoderOp, what, " must be from 0 to ", rows - 1,
            ", got ", value);
  }
}

double start_of_words(const TokenEncoderOptions& options) {
  if (options.positions != Positions::kSinusoidal) return kLearnedStd;
  return 1 / std::sqrt(static_cast<double>(embedding_width(options)));
}

nn::NormOptions norm_of_embeddings(const TokenEncoderOptions& options) {
  nn::NormOptions result = norm_options(options.encoder);
  result.width = embedding_width(options);
  return result;
}

const TokenEncoderOptions& checked(const TokenEncoderOptions& options) {
  nn::detail::require_size(kTokenEncoderOp, "vocab_size", options.vocab_size);
  nn::detail::require_size(kTokenEncoderOp, "d_model", options.encoder.width());
  nn::detail::require_size(kTokenEncoderOp, "embedding_width", embedding_width(options));
  nn::detail::require_size(kTokenEncoderOp, "max_positions", options.max_positions);
  require_enum(kTokenEncoderOp, "positions", options.positions, Positions::kNone);
  const index_t padding = options.pad_token_id.value_or(0);
  require(padding >= 0 && padding < options.vocab_size, kTokenEncoderOp,
          "pad_token_id must be from 0 to ", options.vocab_size - 1, ", got ", padding);
  require(!options.pad_token_id || options.positions == Positions::kLearned, kTokenEncoderOp,
          "positions must be learned if pad_token_id is given, got a different kind");
  nn::detail::require_count(kTokenEncoderOp, "type_vocab_size", options.type_vocab_size);
  nn::detail::require_probability(kTokenEncoderOp, "dropout", options.dropout);
  for (const EncoderLayerOptions& layer : options.encoder.layers) {
    require(layer.batch_first, kTokenEncoderOp,
            "the encoder's layers must have batch_first, got false");
  }
  return options;
}

}  // namespace

TokenEncoder::Embeddings::Embeddings(const TokenEncoderOptions& options,
                                     const nn::ParameterSource& from)
    : word({.num_embeddings = checked(options).vocab_size,
            .embedding_dim = embedding_width(options),
            .std = start_of_words(options)},
           from["word_embeddings"]),
      dropout(options.dropout),
      pad_token_id(options.pad_token_id) {
  const index_t width = embedding_width(options);
  switch (options.positions) {
    case Positions::kSinusoidal:
      sinusoidal.emplace(
          nn::PositionalEncodingOptions{.d_model = width,
                                        .max_positions = options.max_positions,
                                        .input_scale = std::sqrt(static_cast<double>(width))});
      break;
    case Positions::kLearned:
      learned.emplace(position_rows(options), width, from["position_embeddings"]);
      break;
    case Positions::kNone:
      break;
  }
  if (options.type_vocab_size > 0) {
    type.emplace(
        nn::EmbeddingOptions{
            .num_embeddings = options.type_vocab_size, .embedding_dim = width, .std = kLearnedStd},
        from["token_type_embeddings"]);
  }
  if (options.embedding_norm) norm.emplace(norm_of_embeddings(options), from["LayerNorm"]);
  if (options.embedding_width) {
    projection.emplace(width, options.encoder.width(), from["projection"]);
  }
}

Tensor TokenEncoder::Embeddings::operator()(const Tokens& tokens,
                                            const UnpaddedRows& unpadded) const {
  require(type || !tokens.type_ids.defined(), kTokenEncoderOp,
          "type_vocab_size must be at least 1 for types, got 0");
  Tensor positions = tokens.positions;
  if (pad_token_id && !positions.defined()) {
    positions =
        counted_positions(tokens.ids, *pad_token_id, learned->weight.size(0) - *pad_token_id - 1);
  }
  positions = unpad_positions(unpadded, positions);
  const ModulePath path("embeddings");
  const nn::HookedRows rows(unpadded);
  const Tensor types = unpad_numbers(unpadded, tokens.type_ids);
  if (type) check_rows("types", types, type->weight.size(0));
  if (learned && tokens.positions.defined()) {
    check_rows("positions", positions, learned->weight.size(0));
  }
  Tensor x = nn::hooked("words", word(unpad_numbers(unpadded, tokens.ids)));
  if (type) x = x + (types.defined() ? (*type)(types) : type->weight->select(0, 0));
  if (sinusoidal) x = (*sinusoidal)(x, positions);
  if (learned) x = (*learned)(x, positions);
  x = dropout(norm ? (*norm)(x) : x);
  return nn::hooked("", projection ? (*projection)(x) : x);
}

namespace {

EncoderInputs inputs_of(const Tensor& x, const Tokens& tokens, const UnpaddedRows& unpadded) {
  EncoderInputs inputs = {
      .x = x, .positions = unpad_positions(unpadded, tokens.positions), .unpadded = unpadded};
  if (tokens.visible.defined()) {
    inputs.mask = keep_keys_mask(real_tokens(tokens.visible, tokens.ids.size(1)));
  }
  return inputs;
}

}  // namespace

TokenEncoder::TokenEncoder(const TokenEncoderOptions& options, const nn::ParameterSource& from)
    : embeddings(options, from["embeddings"]), encoder(options.encoder, from["encoder"]) {}

std::pair<Tensor, UnpaddedRows> TokenEncoder::unpadded(const Tokens& tokens) const {
  const UnpaddedRows unpadded = checked_unpadding(tokens);
  return {encoder(inputs_of(embeddings(tokens, unpadded), tokens, unpadded)), unpadded};
}

Tensor TokenEncoder::operator()(const Tokens& tokens) const {
  const auto [x, rows] = unpadded(tokens);
  return rows.pad(x);
}

EncoderResult TokenEncoder::with_attentions(const Tokens& tokens,
                                            const AttentionRequest& request) const {
  const UnpaddedRows unpadded = checked_unpadding(tokens);
  EncoderResult trace =
      encoder.with_attentions(inputs_of(embeddings(tokens, unpadded), tokens, unpadded), request);
  trace.output = unpadded.pad(trace.output);
  return trace;
}

}  // namespace tessera::models

namespace tessera::nn::detail {

template void PartLister::add(models::TokenEncoder&) const;

}  // namespace tessera::nn::detail
