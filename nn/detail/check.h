// Checks of the options that modules share. Private to nn and models.
#pragma once

#include <cmath>

#include "tessera/tensor/error.h"
#include "tessera/tensor/shape.h"
#include "tessera/tensor/storage.h"

namespace tessera::nn::detail {

/// Throws if the size called `what` is below 1, or so large that small multiples of it could
/// overflow.
inline void require_size(const char* op, const char* what, index_t size) {
  constexpr index_t kMost = index_t{1} << 60;
  require(size >= 1, op, what, " must be at least 1, got ", size);
  require(size <= kMost, op, what, " must be at most ", kMost, ", got ", size);
}

/// Throws if the number called `what` is negative.
inline void require_count(const char* op, const char* what, index_t count) {
  require(count >= 0, op, what, " must be at least 0, got ", count);
}

/// Throws if the number of heads, called `what`, does not divide the width, called `of`; both >= 1.
inline void require_heads(const char* op, const char* what, index_t heads, const char* of,
                          index_t width) {
  require_size(op, of, width);
  require_size(op, what, heads);
  require(width % heads == 0, op, what, " must divide ", of, ' ', width, ", got ", heads);
}

inline void require_probability(const char* op, const char* what, double p) {
  require(p >= 0 && p <= 1, op, what, " must be in [0, 1], got ", p);
}

inline void require_finite(const char* op, const char* what, double value) {
  require(std::isfinite(value), op, what, " must be finite, got ", value);
}

inline void require_not_negative(const char* op, const char* what, double value) {
  require(value >= 0 && std::isfinite(value), op, what, " must be finite and at least 0, got ",
          value);
}

inline void require_positive(const char* op, const char* what, double value) {
  require(value > 0 && std::isfinite(value), op, what, " must be finite and above 0, got ", value);
}

/// Throws if the factor of a moving average, called `what`, is outside [0, 1).
inline void require_decay(const char* op, const char* what, double decay) {
  require(decay >= 0 && decay < 1, op, what, " must be in [0, 1), got ", decay);
}

/// Throws if the shape that a norm works along has no axis, or a size below 1.
inline void require_normalized_shape(const char* op, const Shape& shape) {
  require(!shape.empty(), op, "normalized_shape must have at least 1 axis, got ", shape);
  for (index_t size : shape) require_size(op, "each size of normalized_shape", size);
}

/// Throws OutOfMemory if `bytes` bytes do not fit into the machine; `sizes` describe their purpose.
template <class... Sizes>
void require_memory(const char* op, double bytes, const Sizes&... sizes) {
  if (bytes <= static_cast<double>(machine_memory())) return;
  throw OutOfMemory(str_cat(op, ": sizes must fit into the memory, got ", sizes..., ", which need ",
                            bytes, " bytes"));
}

}  // namespace tessera::nn::detail
