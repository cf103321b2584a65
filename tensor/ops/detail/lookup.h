// How ops that choose elements by ids find them, and add to them. Private to tensor/ops.
#pragma once

#include "tensor/tensor.h"

namespace tessera::detail {

/// Checks before any thread starts: an exception must not leave a parallel region.
/// **Errors**: ids that are undefined or not int64; an id outside [0, limit), of `what`.
void check_ids(const char* op, const Tensor& ids, index_t limit, const char* what);

/// The checks of gather and scatter_add: `index` has as many axes as `x`, is no larger but on
/// `axis` (normalized), and names positions of that axis. `name` is what the op calls x.
void check_index(const char* op, const char* name, const Tensor& x, index_t axis,
                 const Tensor& index);

/// How each element of a result finds its own in x: element i at i * strides + index[i] * id_stride,
/// where `index` has the result's shape and strides are 0 along the axes that the ids choose from.
struct Lookup {
  Strides strides;
  index_t id_stride;
  Tensor index;
};

/// For x of these strides: ids along `axis`, one for each element of `index`.
Lookup lookup_elements(const Strides& strides, index_t axis, const Tensor& index);

/// For x of these strides: ids (n) along `axis`, one for each slice of a result of `shape`.
Lookup lookup_slices(const Strides& strides, index_t axis, const Tensor& ids, const Shape& shape);

/// The elements of x that `lookup` finds.
Tensor take(const Tensor& x, const Lookup& lookup);

/// Adds each element of `from` to the element of `to` that `lookup` finds; both of one dtype.
///
/// Several may meet in one, so the axes that the ids choose from are walked in row-major order
/// within a thread; threads share the others, along which no two elements meet.
void put(const Tensor& from, const Lookup& lookup, Tensor to);

}  // namespace tessera::detail
