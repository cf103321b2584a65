// Training data of a masked language model: tokens, some of which are hidden.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/models/text/batches.h"
#include "tessera/models/text/vocabulary.h"
#include "tessera/tensor/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::text {

/// Divides a long text into examples of `length` tokens; the last one may be shorter. Each example
/// is `cls`, if it is given, and the next tokens of the text. **Errors**: a length that leaves no
/// room for tokens of the text.
std::vector<Example> token_windows(std::span<const index_t> tokens, index_t length,
                                   std::optional<index_t> cls = {});

/// The options of mask_tokens().
struct MaskTokensOptions {
  double mlm_probability = 0.15;   // the probability that a token is chosen, and must be predicted
  double mask_replace_prob = 0.8;  // the probability that the mask token replaces a chosen token
  double random_replace_prob =
      0.1;  // the probability that a random token replaces it; else it does not change
};

/// A batch with masked tokens, and the tokens to predict.
struct MaskedTokens {
  Tensor ids;     // (B, T) int64, the model's input
  Tensor labels;  // (B, T) int64, the token at each chosen position, kIgnoreIndex elsewhere
  index_t count;  // the number of chosen positions
};

/// Chooses tokens at random, and hides most of them. Special tokens, including padding and unknown
/// words, are never chosen, and a random replacement is never special. If there is any other token,
/// at least one token is chosen (unless the probability is 0), so that every batch has a target.
///
/// The result depends only on the tokens, the options and the generator's state. The generator
/// advances by one block of Philox per token.
/// **Shapes**: ids (B, T) int64. **Errors**: a different dtype; a token, special or not, that is
/// negative or not below `vocab_size`; a vocabulary of only special tokens, or of 2^32 or more
/// tokens; no mask token, unless options.mask_replace_prob is 0; probabilities outside [0, 1] or
/// with a sum of mask_replace_prob and random_replace_prob above 1.
/// **Source**: Devlin et al., "BERT", 2018, section 3.1.
MaskedTokens mask_tokens(const Tensor& ids, const SpecialTokens& special, index_t vocab_size,
                         Rng& rng, const MaskTokensOptions& options = {});

/// True for special tokens among `ids`. **Shapes**: ids (...) int64 -> (...) bool.
Tensor special_mask(const Tensor& ids, const SpecialTokens& special);

/// The positions, in the flattened `labels`, of the elements that are not kIgnoreIndex, in order.
/// **Shapes**: labels (...) int64 -> (n) int64. **Errors**: a different dtype.
Tensor places_of(const Tensor& labels);

}  // namespace tessera::text
