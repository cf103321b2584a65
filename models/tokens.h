// The inputs of text models.
//
//   model(ids)                                             // (B, T) int64, no padding
//   model({ids, lengths})                                  // padded on the right
//   model({.ids = ids, .types = types})                    // two texts per row, as BERT's pairs
#pragma once

#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// Sequences of tokens, by their ids in a vocabulary. Only `ids` is required.
///
/// Positions after a length are padding. Real tokens do not see padding, so padding does not change
/// their results. Models do not compute padding, and their output at padding is zeros.
struct Tokens {
  Tensor ids = {};        // (B, T) int64
  Tensor lengths = {};    // (B) int64, from 1 to T; absent: T
  Tensor types = {};      // (B, T) or (T) int64, the token's text, 0 or 1 in BERT; absent: 0
  Tensor positions = {};  // (B, T) or (T) int64; absent: 0, 1, ...
};

/// Throws an error that begins with `op` if shapes, lengths, or dtypes except that of `ids` are not
/// as described at Tokens, for `batch` = (B, T). `ids` may be undefined. Without the argument
/// `batch`, (B, T) is the shape of `ids`, which must be defined and have two axes.
void check_tokens(const char* op, const Tokens& tokens, const Shape& batch);
void check_tokens(const char* op, const Tokens& tokens);

/// Whether each token is a real token, not padding. **Shapes**: lengths (B) int64 -> (B, count)
/// bool. **Errors**: lengths that are not int64 (B); a negative count.
Tensor real_tokens(const Tensor& lengths, index_t count);

// Models compute a padded batch without its padding: they pack the input and unpack the output. A
// batch is packed once, at one of two places: TokenEncoder packs ids, so that embeddings compute no
// padding, and Encoder packs vectors with a mask of lengths. Heads call TokenEncoder::packed and
// unpack only their scores.

/// The packing of a batch (B, T, ...) if a sequence is shorter than T, otherwise no packing. If
/// lengths are undefined, each is T. **Errors**: a length outside 0 .. T.
PackedRows packing_of(const Tensor& lengths, index_t tokens);

/// Packs one number per token. Returns x itself if nothing is packed or x is undefined.
/// **Shapes**: (B, T) or (T) -> (1, N). **Errors**: a different shape. **Source**: as pack_rows.
Tensor pack_numbers(const PackedRows& packed, const Tensor& x);
/// As pack_numbers, for positions; undefined positions of packed tokens are 0, 1, ... in each
/// sequence.
Tensor pack_positions(const PackedRows& packed, const Tensor& given);

}  // namespace tessera::models
