// The inputs of text models.
//
//   model(ids)                                             // (B, T) int64, no padding
//   model({ids, lengths})                                  // padded on the right
//   model({.ids = ids, .type_ids = types})                 // two texts per row, as BERT's pairs
#pragma once

#include "tessera/tensor/ops/unpad_rows.h"
#include "tessera/tensor/tensor.h"

namespace tessera::models {

/// Sequences of tokens, by their ids in a vocabulary. Only `ids` is required.
///
/// `positions` are read by tables of positions, rotary layers, custom parts of layers and
/// Pooling::kWeightedMean. Positions after a length are padding. Real tokens do not see padding, so
/// padding does not change their results. Models do not compute padding, and their output at
/// padding is zeros.
struct Tokens {
  Tensor ids = {};        // (B, T) int64
  Tensor lengths = {};    // (B) int64, from 1 to T; absent: T
  Tensor type_ids = {};   // (B, T) or (T) int64, the token's text, 0 or 1 in BERT; absent: 0
  Tensor positions = {};  // (B, T) or (T) int64; absent: 0, 1, ...
  // (B) int64, from 1 to T: all tokens are computed, but only those before this number are read by
  // attention; absent: all. Not together with `lengths`.
  Tensor visible = {};
};

/// Throws an error that begins with `op` if shapes, lengths, or dtypes except that of `ids` are not
/// as described at Tokens, for `batch` = (B, T). `ids` may be undefined. Without the argument
/// `batch`, (B, T) is the shape of `ids`, which must be defined and have two axes.
void check_tokens(const char* op, const Tokens& tokens, const Shape& batch);
void check_tokens(const char* op, const Tokens& tokens);

/// Whether each token is a real token, not padding. **Shapes**: lengths (B) int64 -> (B, count)
/// bool. **Errors**: lengths that are not int64 (B); a negative count.
Tensor real_tokens(const Tensor& lengths, index_t count);

// Models compute a padded batch without its padding: they unpad the input and pad the output. A
// batch is unpadded once, at one of two places: TokenEncoder unpads ids, so that embeddings compute
// no padding, and Encoder unpads vectors with a mask of lengths. Heads call TokenEncoder::unpadded
// and pad only their scores.

/// The unpadding of a batch (B, T, ...) if a sequence is shorter than T, otherwise no unpadding. If
/// lengths are undefined, each is T. **Errors**: a length outside 0 .. T.
UnpaddedRows unpadding_of(const Tensor& lengths, index_t tokens);

/// Unpads one number per token. Returns x itself if nothing is unpadded or x is undefined.
/// **Shapes**: (B, T) or (T) -> (1, N). **Errors**: a different shape. **Source**: as unpad_rows.
Tensor unpad_numbers(const UnpaddedRows& unpadded, const Tensor& x);
/// As unpad_numbers, for positions; undefined positions of unpadded tokens are 0, 1, ... in each
/// sequence.
Tensor unpad_positions(const UnpaddedRows& unpadded, const Tensor& given);

}  // namespace tessera::models
