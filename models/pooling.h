// Poolings: functions that make one vector from the vectors of a sequence's tokens.
//
// A pooling is a name and a function. A new pooling is a constant:
//
//   constexpr Pooling kSecond = {"second", [](const Tensor& x, const Tokens& tokens) { ... }};
#pragma once

#include <span>
#include <string_view>

#include "tessera/models/tokens.h"

namespace tessera::models {

/// One vector per sequence, only from its real tokens: padding does not change the result, even if
/// the padding is NaN.
///
/// **Shapes**: x (B, T, D), the vectors of `tokens` -> (B, D). The poolings below read
/// `tokens.lengths`, and kWeightedMean also `tokens.positions`. A new pooling may also read ids and
/// types, which a SequenceClassifier passes on and a SentenceEncoder does not.
/// **Errors**: a null function; T = 0; shapes that do not match; a length outside 1 .. T; lengths,
/// types or positions that are not int64.
/// **Source**: Reimers and Gurevych, "Sentence-BERT", 2019, section 3, for mean, cls and max;
/// Muennighoff, "SGPT: GPT Sentence Embeddings for Semantic Search", 2022, for the weighted mean;
/// sentence_transformers.models.Pooling, for all.
struct Pooling {
  std::string_view name;
  Tensor (*function)(const Tensor& x, const Tokens& tokens);

  Tensor operator()(const Tensor& x, const Tokens& tokens = {}) const;

  static const Pooling kMean;  // the mean of the tokens' vectors
  static const Pooling kCls;   // the first token's vector: examples must begin with a [CLS]
  static const Pooling kMax;   // the largest element in each column
  static const Pooling kMeanSqrtLength;  // the sum of the tokens' vectors, divided by the root
                                         // of the number of tokens
  static const Pooling kWeightedMean;    // the mean, weighted by t + 1 for the token at position t
  static const Pooling kLast;            // the last real token's vector

  /// The poolings above.
  static std::span<const Pooling> all();
  /// The pooling that has this name in sentence-transformers. **Errors**: an unknown name.
  static const Pooling& named(std::string_view name);
};

}  // namespace tessera::models
