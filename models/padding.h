// How a padded batch is computed without its padding: packed where it enters, and unpacked where it
// leaves.
//
//   const PackedRows packed = packing_of(lengths, x.size(1));
//   return packed.unpack(token_wise(packed.pack(x)));
#pragma once

#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// The packing of a batch (B, T, ...) in which a sequence is shorter than T; of any other, none.
/// Undefined lengths are T each. **Errors**: a length outside 0 .. T.
PackedRows packing_of(const Tensor& lengths, index_t tokens);

/// A number per token, (B, T) or (T) -> (1, N); undefined ones stay so.
Tensor pack_numbers(const PackedRows& packed, const Tensor& x);
/// The position of each token, 0, 1, ... in each sequence if undefined.
Tensor pack_positions(const PackedRows& packed, const Tensor& given);

}  // namespace tessera::models
