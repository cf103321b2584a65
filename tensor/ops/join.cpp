#include "tensor/ops/join.h"

#include "tensor/autograd/recording.h"
#include "tensor/error.h"

namespace tessera {

namespace {

void check_parts(const char* op, const std::vector<Tensor>& parts) {
  require(!parts.empty(), op, "list must have at least 1 tensor, got none");
  for (const Tensor& part : parts)
    require(part.defined(), op, "tensors must be defined, got an undefined one");
}

}  // namespace

Tensor concat(const std::vector<Tensor>& parts, index_t axis) {
  check_parts("concat", parts);
  Shape shape = parts.front().shape();
  DType dtype = parts.front().dtype();
  const index_t a = normalize_axis("concat", axis, shape.size());
  shape[a] = 0;
  for (const Tensor& part : parts) {
    Shape fitting = shape;
    if (part.rank() == shape.size()) fitting[a] = part.shape()[a];
    require(part.shape() == fitting, "concat", "shapes must be equal except on axis ", axis,
            ", got ", parts.front().shape(), " and ", part.shape());
    const bool overflows = __builtin_add_overflow(shape[a], part.shape()[a], &shape[a]);
    require(!overflows, "concat", "sizes of axis ", axis, " must add up to an int64");
    dtype = promote(dtype, part.dtype());
  }
  Recording op("concat", parts);
  const Tensor result = Tensor::empty(shape, dtype);
  std::vector<index_t> sizes;
  index_t start = 0;
  for (const Tensor& part : parts) {
    const index_t stop = start + part.shape()[a];
    result.slice(a, start, stop).copy_from(part);
    sizes.push_back(stop - start);
    start = stop;
  }
  return op.finish(result, [&] {
    return [sizes, a](const Tensor& dy, Gradients& dx) {
      const std::vector<Tensor> pieces = dy.split(sizes, a);
      for (std::size_t i = 0; i < pieces.size(); ++i) dx.add(i, pieces[i]);
    };
  });
}

Tensor stack(const std::vector<Tensor>& parts, index_t axis) {
  check_parts("stack", parts);
  const Shape& shape = parts.front().shape();
  const index_t a = normalize_axis("stack", axis, shape.size() + 1);
  std::vector<Tensor> layers;
  for (const Tensor& part : parts) {
    require(part.shape() == shape, "stack", "shapes must be equal, got ", shape, " and ",
            part.shape());
    layers.push_back(part.unsqueeze(a));
  }
  return concat(layers, a);
}

}  // namespace tessera
