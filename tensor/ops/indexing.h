// Selection of elements by position: lookup in a table, gathering, masks, one-hot vectors,
// triangles; and the inverse of a lookup, which adds values at the positions that ids give.
//
// Ids are int64, count from 0 and are never negative: a wrong id is an error that names the id.
// Values are added in the order of the source, for any number of threads. int64 sums are modulo
// 2^64, from -2^63 to 2^63 - 1, and the sum of bools is "or".
//
// **Errors** of all functions: an undefined tensor; a result with more than kMaxRank axes.
#pragma once

#include "tessera/tensor/ops/operand.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// Row ids[...] of a table: out[..., d] = weight[ids[...], d].
///
/// **Shapes**: ids (...) int64, weight (V, D) -> (..., D), of weight's dtype.
/// **Errors**: weight without two axes; ids of a different dtype; an id outside [0, V).
/// **Source**: torch.nn.functional.embedding.
Tensor embedding(const Tensor& ids, const Tensor& weight);

/// The slices of x at positions `ids` of `axis`, in that order; an id may occur several times.
///
/// **Shapes**: ids (n) int64; the result has x's shape with n at `axis`.
/// **Errors**: an axis out of range; ids that are not int64 with one axis; an id outside [0, size
/// of the axis).
/// **Source**: torch.index_select, numpy.take.
Tensor index_select(const Tensor& x, index_t axis, const Tensor& ids);

/// One element of x per element of `index`: for axis 1, out[i, j, k] = x[i, index[i, j, k], k].
///
/// **Shapes**: index int64 of x's rank, no larger than x on any axis except `axis` -> index's
/// shape.
/// **Errors**: an axis out of range; index of a different dtype or rank, or a larger size; an entry
/// outside [0, size of the axis).
/// **Source**: torch.gather.
Tensor gather(const Tensor& x, index_t axis, const Tensor& index);

/// 1 at position ids[...] of a new last axis, 0 elsewhere.
///
/// **Shapes**: ids (...) int64 -> (..., classes), of `dtype`.
/// **Errors**: ids of a different dtype; a negative number of classes; an id outside [0, classes).
/// **Source**: torch.nn.functional.one_hot.
Tensor one_hot(const Tensor& ids, index_t classes, DType dtype = kInt64);

/// The indices of the elements of x that are not zero, one row per element, in row-major order. NaN
/// counts as not zero.
///
/// **Shapes**: (...) -> (elements, rank of x), int64.
/// **Source**: torch.nonzero; numpy.argwhere.
Tensor nonzero(const Tensor& x);

/// The elements of x where `mask` is true, in row-major order.
///
/// **Shapes**: any two that broadcast -> (elements).
/// **Errors**: a mask that is not bool; shapes that do not broadcast.
/// **Source**: torch.masked_select.
Tensor masked_select(const Tensor& x, const Tensor& mask);

/// The lower triangle of the last two axes: keeps the elements with column - row <= diagonal, and
/// sets the others to 0. `tril(ones({T, T}, kBool))` is the mask under which token i sees the
/// tokens up to i.
///
/// **Shapes**: (..., M, N) -> the same. **Errors**: fewer than two axes.
/// **Source**: numpy.tril, torch.tril.
Tensor tril(const Tensor& x, index_t diagonal = 0);

/// The upper triangle of the last two axes: keeps the elements with column - row >= diagonal, and
/// sets the others to 0.
/// **Shapes**, **Errors**: as tril.
/// **Source**: numpy.triu, torch.triu.
Tensor triu(const Tensor& x, index_t diagonal = 0);

/// A copy of x, where each element of `source` is added to the element that `index` selects: for
/// axis 1, out = x, then out[i, index[i, j, k], k] += source[i, j, k].
///
/// **Shapes**: index int64 of x's rank, no larger than x on any axis except `axis`, and no larger
/// than `source` on any axis; the rest of `source` is ignored. The result has x's shape.
/// **Errors**: an axis out of range; source of a different dtype or rank than x; index of a
/// different dtype or rank, or a larger size; an entry outside [0, size of the axis).
/// **Source**: torch.scatter_add.
Tensor scatter_add(const Tensor& x, index_t axis, const Tensor& index, const Tensor& source);

/// A copy of x, where alpha times slice i of `source` is added to slice ids[i]; slices are along
/// `axis`.
///
/// **Shapes**: ids (n) int64; source has x's shape with n at `axis`. The result has x's shape.
/// **Errors**: an axis out of range; source of a different dtype or shape; ids that are not int64
/// with one axis; an id outside [0, size of the axis); an alpha that an integer or bool x cannot
/// hold.
/// **Source**: torch.index_add.
Tensor index_add(const Tensor& x, index_t axis, const Tensor& ids, const Tensor& source,
                 Scalar alpha = 1);

}  // namespace tessera
