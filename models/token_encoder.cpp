#include "models/token_encoder.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::models {

namespace {

constexpr const char* kOp = "TokenEncoder";
constexpr double kLearnedStd = 0.02;

AttentionMask checked_mask(const Tokens& tokens) {
  check_tokens(kOp, tokens);
  return padding_mask(tokens);
}

/// The row of each token and the one in front of it, (B, T); the first has none in front.
Tensor pair_rows(const Tensor& ids, index_t rows) {
  const std::vector<index_t> numbers = ids.to_vector<index_t>();
  const auto length = static_cast<std::size_t>(ids.size(-1));
  std::vector<index_t> result;
  result.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto before = i % length == 0 ? 0 : static_cast<std::uint64_t>(numbers[i - 1]) + 1;
    std::uint64_t hash = before * 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 32)) + static_cast<std::uint64_t>(numbers[i]);
    hash *= 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
    result.push_back(static_cast<index_t>(hash % static_cast<std::uint64_t>(rows)));
  }
  return from_vector(result, ids.shape());
}

const TokenEncoderOptions& checked(const TokenEncoderOptions& options) {
  nn::detail::require_size(kOp, "vocabulary_size", options.vocabulary_size);
  nn::detail::require_size(kOp, "d_model", options.encoder.width());
  nn::detail::require_size(kOp, "max_tokens", options.max_tokens);
  require(options.pair_rows >= 0, kOp, "pair_rows must not be ", options.pair_rows);
  require(options.token_types >= 0, kOp, "token_types must not be ", options.token_types);
  nn::detail::require_probability(kOp, "dropout", options.dropout);
  for (const EncoderLayerOptions& layer : options.encoder.layers) {
    require(layer.batch_first, kOp, "the encoder must have the batch first");
  }
  return options;
}

}  // namespace

TokenEncoder::Embeddings::Embeddings(const TokenEncoderOptions& options, Rng& rng)
    : word(checked(options).vocabulary_size, options.encoder.width(), rng),
      dropout(options.dropout) {
  const index_t width = options.encoder.width();
  const double scale = std::sqrt(static_cast<double>(width));
  switch (options.positions) {
    case Positions::kSinusoidal:
      require(options.embedding_scale > 0 && std::isfinite(options.embedding_scale), kOp,
              "embedding_scale must be a number above 0, not ", options.embedding_scale);
      word.weight = word.weight * (options.embedding_scale / scale);
      sinusoidal.emplace(nn::PositionalEncodingOptions{
          .d_model = width, .max_tokens = options.max_tokens, .input_scale = scale});
      break;
    case Positions::kLearned:
      word.weight = word.weight * kLearnedStd;
      learned.emplace(options.max_tokens, width, rng);
      break;
    case Positions::kNone:
      word.weight = word.weight * kLearnedStd;
      break;
    default:
      fail(kOp, "no such kind of positions");
  }
  if (options.token_types > 0) {
    type.emplace(options.token_types, width, rng);
    type->weight = type->weight * kLearnedStd;
  }
  if (options.pair_rows > 0) {
    pair.emplace(options.pair_rows, width, rng);
    pair->weight = zeros_like(pair->weight);
  }
  if (options.embedding_norm) norm.emplace(make_norm(options.encoder));
}

Tensor TokenEncoder::Embeddings::summed(const Tokens& tokens) const {
  require(type || !tokens.types.defined(), kOp, "types are given, but token_types is 0");
  Tensor x = word(tokens.ids);
  if (type) x = x + (tokens.types.defined() ? (*type)(tokens.types) : type->weight.select(0, 0));
  if (pair) x = x + (*pair)(pair_rows(tokens.ids, pair->weight.size(0)));
  if (sinusoidal) x = (*sinusoidal)(x, tokens.positions);
  if (learned) x = (*learned)(x, tokens.positions);
  return x;
}

TokenEncoder::TokenEncoder(const TokenEncoderOptions& options, Rng& rng)
    : embeddings(options, rng), encoder(options.encoder, rng) {}

Tensor TokenEncoder::operator()(const Tokens& tokens) const {
  const AttentionMask mask = checked_mask(tokens);
  return encoder({embeddings(tokens), mask, tokens.positions});
}

Tensor TokenEncoder::from_sum(const Tensor& sum, const Tokens& tokens) const {
  const AttentionMask mask = checked_mask(tokens);
  return encoder({embeddings.finished(sum), mask, tokens.positions});
}

EncoderTrace TokenEncoder::with_weights(const Tokens& tokens,
                                        const AttentionRequest& request) const {
  const AttentionMask mask = checked_mask(tokens);
  return encoder.with_weights({embeddings(tokens), mask, tokens.positions}, request);
}

}  // namespace tessera::models
