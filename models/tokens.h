// The inputs of text models.
//
//   model(ids)                                             // (B, T) int64, no padding
//   model({ids, lengths})                                  // padded on the right
//   model({.ids = ids, .types = types})                    // two texts a row, as BERT's pairs
#pragma once

#include "tensor/tensor.h"

namespace tessera::models {

/// Sequences of tokens, by their numbers in a vocabulary. Only `ids` must be there.
///
/// Positions after a length are padding: no real token sees them, they change no bit, and models do
/// not compute them but leave zeros there.
struct Tokens {
  Tensor ids = {};        // (B, T) int64
  Tensor lengths = {};    // (B) int64, from 1 to T; absent: T
  Tensor types = {};      // (B, T) or (T) int64, the text a token is from; absent: 0
  Tensor positions = {};  // (B, T) or (T) int64; absent: 0, 1, ...
};

/// Throws, in the name of `op`, unless the shapes are as Tokens says, dtypes int64 and lengths in
/// their range. Where `ids` is undefined, the others must fit a batch of this shape, (B, T).
void check_tokens(const char* op, const Tokens& tokens, const Shape& batch);
void check_tokens(const char* op, const Tokens& tokens);

/// True where a token is real. **Shapes**: lengths (B) int64 -> (B, count) bool.
Tensor real_tokens(const Tensor& lengths, index_t count);

}  // namespace tessera::models
