// Gather and scatter: reading the elements that ids select, or adding to them. Private to
// tensor/ops.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera::detail {

/// Checks before any thread starts: an exception must not leave a parallel region.
/// Errors call the ids `name`. **Errors**: ids that are undefined or not int64; an id outside [0,
/// limit), of `what`.
void check_ids(const char* op, const Tensor& ids, index_t limit, const char* what,
               const char* name = "ids");

/// The checks of gather and scatter_add: `index` has as many axes as `x`, is not larger except on
/// `axis` (normalized), and its elements are positions along that axis. `name` is the op's name for
/// x.
void check_index(const char* op, const char* name, const Tensor& x, index_t axis,
                 const Tensor& index);

/// The element of x for each element i of a result: at i * strides + index[i] * id_stride, where
/// `index` has the shape of the result and strides are 0 along the axes that the ids index.
struct Lookup {
  Strides strides;
  index_t id_stride;
  Tensor index;
};

/// For x with these strides: ids along `axis`, one per element of `index`.
Lookup lookup_elements(const Strides& strides, index_t axis, const Tensor& index);

/// For x with these strides: ids (n) along `axis`, one per slice of a result of `shape`.
Lookup lookup_slices(const Strides& strides, index_t axis, const Tensor& ids, const Shape& shape);

/// The elements of x that `lookup` finds.
Tensor take(const Tensor& x, const Lookup& lookup);

/// Adds each element of `from` to the element of `to` that `lookup` finds; both have the same
/// dtype.
///
/// Several elements may be added to one, so one thread processes the axes that the ids index, in
/// row-major order; threads divide the other axes, along which all targets are different.
void put(const Tensor& from, const Lookup& lookup, Tensor to);

}  // namespace tessera::detail
