// The type of the exercises of examples/course/001_strided_tensor.md.
#pragma once

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// A list of sizes or strides, one per axis.
using Sizes = std::vector<index_t>;

/// How a view finds element (i, j, ...) in memory: at offset + i strides[0] + j strides[1] + ...
struct View {
  Sizes shape, strides;
  index_t offset = 0;
};

}  // namespace tessera::exercises
