// Ranges of numbers on command lines.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::examples {

/// The numbers that an option may be, written in plain decimal. NaN is in no range.
template <class T>
struct Range {
  T low, high;
};

/// The largest count that an option takes.
inline constexpr index_t kMany = 1'000'000'000;

}  // namespace tessera::examples
