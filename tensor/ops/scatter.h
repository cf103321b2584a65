// Sums into places that ids choose: the inverse of the lookups in indexing.h.
//
// What meets in one place is added in the order of the source, whatever threads do. int64 wraps
// around at 2^64; the sum of bools is "or". Ids are as in indexing.h.
// A scalar, which has no axis, is refused.
#pragma once

#include "tensor/ops/operand.h"
#include "tensor/tensor.h"

namespace tessera {

/// x, and each element of `source` added to the one that `index` names: for axis 1,
/// out[i, index[i, j, k], k] += source[i, j, k].
///
/// **Shapes**: index int64 of x's rank, no larger than x on any axis but `axis`, and no larger than
/// `source` on any; the rest of `source` is left out. The result has x's shape.
/// **Errors**: source of another dtype or rank than x; index of another dtype, rank or of a larger
/// size; an entry outside [0, size of the axis).
/// **Source**: torch.scatter_add.
Tensor scatter_add(const Tensor& x, index_t axis, const Tensor& index, const Tensor& source);

/// x, and slice i of `source` along `axis`, times alpha, added to its slice ids[i].
///
/// **Shapes**: ids (n) int64; source has x's shape with n at `axis`. The result has x's shape.
/// **Errors**: source of another dtype or shape; ids that are not int64 with one axis; an id
/// outside [0, size of the axis); an alpha that an integer or bool x cannot hold.
/// **Source**: torch.index_add.
Tensor index_add(const Tensor& x, index_t axis, const Tensor& ids, const Tensor& source,
                 Scalar alpha = 1);

}  // namespace tessera
