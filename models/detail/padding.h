// Computes a padded batch without its padding: pack the input, unpack the output.
//
//   const PackedRows packed = packing_of(lengths, x.size(1));
//   return packed.unpack(token_wise(packed.pack(x)));
//
// A batch is packed and unpacked once, at one of two places: TokenEncoder packs ids, so that
// embeddings compute no padding, and Encoder packs vectors with a mask of lengths. Encoder does not
// pack inputs twice. Heads call TokenEncoder::packed and unpack only their scores.
#pragma once

#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// The packing of a batch (B, T, ...) if a sequence is shorter than T, otherwise no packing. If
/// lengths are undefined, each is T. **Errors**: a length outside 0 .. T.
PackedRows packing_of(const Tensor& lengths, index_t tokens);

/// Packs one number per token, (B, T) or (T) -> (1, N). Returns x itself if nothing is packed or x
/// is undefined.
Tensor pack_numbers(const PackedRows& packed, const Tensor& x);
/// As pack_numbers, for positions; undefined positions of packed tokens are 0, 1, ... in each
/// sequence.
Tensor pack_positions(const PackedRows& packed, const Tensor& given);

}  // namespace tessera::models
