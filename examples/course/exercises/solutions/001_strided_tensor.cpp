// One solution of each exercise of 001.
#include "examples/course/exercises/001_strided_tensor.h"

namespace tessera::exercises {

Sizes contiguous_strides(const Sizes& shape) {
  Sizes strides(shape.size());
  index_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

View sliced(View view, std::size_t axis, index_t start, index_t stop, index_t step) {
  view.offset += start * view.strides[axis];
  view.shape[axis] = (stop - start + step - 1) / step;
  view.strides[axis] *= step;
  return view;
}

View expanded(const View& view, const Sizes& shape) {
  const std::size_t added = shape.size() - view.shape.size();
  View result = {shape, Sizes(shape.size(), 0), view.offset};
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] == shape[added + axis]) {
      result.strides[added + axis] = view.strides[axis];
    }
  }
  return result;
}

}  // namespace tessera::exercises
