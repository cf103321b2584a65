// Checks of the options that modules share. Private to nn and models.
#pragma once

#include <cmath>

#include "tensor/error.h"
#include "tensor/shape.h"

namespace tessera::nn::detail {

/// Throws unless the size called `what` is at least 1.
inline void require_size(const char* op, const char* what, index_t size) {
  require(size >= 1, op, what, " must be at least 1, not ", size);
}

/// Throws unless the number of heads, called `what`, divides the width, called `of`; both >= 1.
inline void require_heads(const char* op, const char* what, index_t heads, const char* of,
                          index_t width) {
  require_size(op, of, width);
  require_size(op, what, heads);
  require(width % heads == 0, op, what, ' ', heads, " does not divide ", of, ' ', width);
}

inline void require_probability(const char* op, const char* what, double p) {
  require(p >= 0 && p <= 1, op, what, " must lie in [0, 1], not ", p);
}

/// Throws unless the shape that a norm works along has an axis, and sizes of at least 1.
inline void require_normalized_shape(const char* op, const Shape& shape) {
  require(!shape.empty(), op, "normalized_shape names no axis");
  for (index_t size : shape) require_size(op, "a size of normalized_shape", size);
}

/// Throws unless the eps of a norm, called `what`, is a number >= 0.
inline void require_eps(const char* op, const char* what, double eps) {
  require(eps >= 0 && std::isfinite(eps), op, what, " must be a number >= 0, not ", eps);
}

}  // namespace tessera::nn::detail
