// The inputs of text models.
//
//   model(ids)                                             // (B, T) int64, no padding
//   model({ids, lengths})                                  // padded on the right
//   model({.ids = ids, .types = types})                    // two texts per row, as BERT's pairs
#pragma once

#include "tensor/tensor.h"

namespace tessera::models {

/// Sequences of tokens, by their ids in a vocabulary. Only `ids` is required.
///
/// Positions after a length are padding: real tokens do not see padding, so padding does not change
/// the results of real tokens; models do not compute padding, and set the output there to zeros.
struct Tokens {
  Tensor ids = {};        // (B, T) int64
  Tensor lengths = {};    // (B) int64, from 1 to T; absent: T
  Tensor types = {};      // (B, T) or (T) int64, the text of a token; absent: 0
  Tensor positions = {};  // (B, T) or (T) int64; absent: 0, 1, ...
};

/// Throws an error that begins with `op` if shapes, dtypes or lengths are not as described at
/// Tokens. If `ids` is undefined, the others must match a batch of this shape, (B, T).
void check_tokens(const char* op, const Tokens& tokens, const Shape& batch);
void check_tokens(const char* op, const Tokens& tokens);

/// True for a real token. **Shapes**: lengths (B) int64 -> (B, count) bool.
Tensor real_tokens(const Tensor& lengths, index_t count);

}  // namespace tessera::models
