#include "models/pair_classifier.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "models/tokens.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/reduce.h"

namespace tessera::models {

namespace {

constexpr const char* kOp = "PairClassifier";

/// A number from [0, buckets) for two words, mixed as by SplitMix64 but for its first shift.
/// Checkpoints rest on it.
index_t bucket_of(index_t first, index_t second, index_t buckets) {
  auto x = static_cast<std::uint64_t>(first) << 32 ^ static_cast<std::uint64_t>(second);
  x = (x + 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return static_cast<index_t>(x % static_cast<std::uint64_t>(buckets));
}

}  // namespace

PairClassifier::PairClassifier(const PairClassifierOptions& options)
    : vocabulary_size(options.vocabulary_size), scale(options.scale) {
  require(options.vocabulary_size > 0 && options.classes > 0 && options.buckets > 0, kOp,
          "vocabulary_size ", options.vocabulary_size, ", classes ", options.classes,
          " and buckets ", options.buckets, " must be above 0");
  require(scale > 0 && std::isfinite(scale), kOp, "scale must be a number above 0, not ", scale);
  weight = zeros({options.vocabulary_size + options.buckets, options.classes});
}

Tensor PairClassifier::operator()(const Tensor& tokens, const Tensor& lengths) const {
  check_tokens(kOp, {.ids = tokens, .lengths = lengths});
  require(tokens.dtype() == kInt64, kOp, "expected tokens of int64, not of ", tokens.dtype());
  const index_t batch = tokens.size(0), width = tokens.size(1);
  require(width > 0, kOp, "no token in ", tokens.shape());
  const index_t buckets = weight.size(0) - vocabulary_size;
  require(buckets > 0, kOp, "a weight ", weight.shape(), " has no rows for pairs behind those of ",
          vocabulary_size, " words");
  const std::vector<index_t> words = tokens.to_vector<index_t>();
  std::vector<index_t> rows(2 * words.size());  // a word, the pair that it ends, the next word, ...
  std::vector<double> factors(2 * words.size());  // 0 where there is no word or pair
  for (index_t b = 0; b < batch; ++b) {
    const index_t n = lengths.defined() ? lengths.item_at<index_t>({b}) : width;
    const double factor = scale / std::sqrt(2 * static_cast<double>(n) - 1);
    for (index_t t = 0; t < n; ++t) {
      const auto at = static_cast<std::size_t>(2 * (b * width + t));
      const index_t word = words[at / 2];
      require(0 <= word && word < vocabulary_size, kOp, "token ", word,
              " is not in a vocabulary of ", vocabulary_size);
      rows[at] = word;
      factors[at] = factor;
      if (t == 0) continue;
      rows[at + 1] = vocabulary_size + bucket_of(rows[at - 2], word, buckets);
      factors[at + 1] = factor;
    }
  }
  const Tensor scores = embedding(weight, from_vector(rows, {batch, 2 * width}));  // (B, 2T, C)
  return sum(scores * from_vector(factors, {batch, 2 * width, 1}).to(weight.dtype()), {1});
}

}  // namespace tessera::models
