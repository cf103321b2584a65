#include "tensor/detail/rows.h"

#include <algorithm>

namespace tessera::detail {

Axes rows_then_columns(index_t rank, const Axes& axes) {
  Axes order;
  for (index_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) order.push_back(i);
  }
  for (index_t axis : axes) order.push_back(axis);
  return order;
}

namespace {

Shape permuted(const Shape& shape, const Axes& order) {
  Shape result;
  for (index_t axis : order) result.push_back(shape[axis]);
  return result;
}

}  // namespace

Tensor as_rows(const Tensor& x, const Axes& axes) {
  const Axes order = rows_then_columns(x.rank(), axes);
  index_t rows = 1;
  index_t n = 1;
  for (index_t i = 0; i < x.rank(); ++i) {
    (i < x.rank() - axes.size() ? rows : n) *= x.shape()[order[i]];
  }
  const Tensor matrix = x.permute(order).reshape({rows, n});
  return n > 1 && matrix.strides()[1] != 1 ? matrix.clone() : matrix;
}

Tensor from_rows(const Tensor& rows, const Shape& shape, const Axes& axes) {
  const Axes order = rows_then_columns(shape.size(), axes);
  Axes inverse = order;
  for (index_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return rows.reshape(permuted(shape, order)).permute(inverse).contiguous();
}

}  // namespace tessera::detail
