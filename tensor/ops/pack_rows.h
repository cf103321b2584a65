// A padded batch without its padding, and back.
//
//   const Tensor rows = pack_rows(x, lengths);                  // (B, T, D) -> (N, D)
//   const Tensor y = linear(rows, weight, bias);                // on real tokens only
//   const Tensor padded = unpack_rows(y, lengths, x.size(1));   // (B, T, F)
//
// attention() takes packed rows with a packed_mask(lengths).
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// The first lengths[b] rows of each sequence b, one sequence after the other.
///
/// **Shapes**: x (B, T, ...), lengths (B) int64 from 0 to T -> (N, ...), N being their sum.
/// **Errors**: other ranks, sizes or dtypes, a length outside 0 .. T.
Tensor pack_rows(const Tensor& x, const Tensor& lengths);

/// The inverse of pack_rows: `tokens` rows for each sequence, with zeros after its own.
///
/// **Shapes**: x (N, ...), lengths (B) int64 that add up to N -> (B, tokens, ...).
/// **Errors**: as pack_rows; another sum.
Tensor unpack_rows(const Tensor& x, const Tensor& lengths, index_t tokens);

/// Where each sequence begins among packed rows, and at last where all end: 0, lengths[0],
/// lengths[0] + lengths[1], ...
///
/// **Shapes**: (B) int64 -> (B + 1). **Errors**: another rank or dtype, a negative length, a sum that
/// is no int64.
Tensor row_offsets(const Tensor& lengths);

}  // namespace tessera
