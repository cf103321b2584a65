// The exercises of examples/course/001_strided_tensor.md: write the functions, then run
//
//     cmake --build build/release --target exercise_001
#include "examples/course/exercises/001_strided_tensor.h"

namespace tessera::exercises {

/// 001.1. The strides of a contiguous tensor: row-major, without gaps. The last axis has stride 1.
Sizes contiguous_strides(const Sizes& shape) {
  unsolved("001.1", shape);
}

/// 001.2. The view of the elements start, start + step, ... before stop of `axis`. Here 0 <= start
/// <= stop <= shape[axis] and step > 0, so no position is negative.
View sliced(View view, std::size_t axis, index_t start, index_t stop, index_t step) {
  unsolved("001.2", view, axis, start, stop, step);
}

/// 001.3. The view broadcast to `shape`, which has at least as many axes as the view. The axes are
/// aligned at the last one. An axis that the view does not have, or an axis of size 1 that becomes
/// larger, gets stride 0.
View expanded(const View& view, const Sizes& shape) {
  unsolved("001.3", view, shape);
}

}  // namespace tessera::exercises
