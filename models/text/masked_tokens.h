// What a masked language model learns from: tokens of which some are hidden.
#pragma once

#include <span>
#include <vector>

#include "models/text/batches.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::text {

/// A long text as examples of at most `length` tokens: kCls and the next `length` - 1 of the text, up
/// to its end, where the last may be shorter. Errors: a length below 2.
std::vector<Example> token_windows(std::span<const index_t> tokens, index_t length);

struct MaskOptions {
  double chosen = 0.15;  // the chance of each token to be one that the model has to find
  double masked = 0.8;   // of these: replaced by kMask,
  double random = 0.1;   // replaced by any token; the others stay as they are
};

struct MaskedTokens {
  Tensor tokens;  // (B, T) int64, what the model sees
  Tensor labels;  // (B, T) int64, the token at each chosen place, kIgnored elsewhere
  index_t count;  // chosen places
};

/// The label of places that a loss leaves out.
inline constexpr index_t kIgnored = -100;

/// Chooses tokens at random, and hides most of them. Special tokens, padding and unknown words are
/// never chosen and never stand in for a token. Where there is any other token, at least one is
/// chosen (unless the chance is 0), so that every batch has something to learn.
///
/// The result depends on the tokens and the generator's state, and on nothing else; the generator
/// moves on by as many blocks as there are tokens.
/// **Shapes**: tokens (B, T) int64. **Errors**: another dtype; a token that the vocabulary does not
/// have; chances outside [0, 1] or, together, above 1.
/// **Source**: Devlin et al., "BERT", 2018, section 3.1.
MaskedTokens mask_tokens(const Tensor& tokens, index_t vocabulary_size, Rng& rng,
                         const MaskOptions& options = {});

/// The numbers of the elements of `labels`, flattened, that are not kIgnored, in order.
/// **Shapes**: labels (...) int64 -> (n) int64.
Tensor places_of(const Tensor& labels);

}  // namespace tessera::text
