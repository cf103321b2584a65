#include "tensor/ops/scatter.h"

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/lookup.h"

namespace tessera {

namespace {

void check_source(const char* op, const Tensor& x, const Tensor& source) {
  require(x.defined() && source.defined(), op, "a tensor is undefined");
  require(source.dtype() == x.dtype(), op, "a source of ", source.dtype(),
          " cannot be added to a tensor of ", x.dtype());
}

/// The part of `source` that lies at the places of `index`; recorded.
Tensor beside(const Tensor& index, Tensor source) {
  for (index_t axis = 0; axis < index.rank(); ++axis) {
    const index_t n = index.shape()[axis];
    if (n != source.shape()[axis]) source = source.slice(axis, 0, n);
  }
  return source;
}

}  // namespace

Tensor scatter_add(const Tensor& x, index_t axis, const Tensor& index, const Tensor& source) {
  constexpr const char* kOp = "scatter_add";
  check_source(kOp, x, source);
  const index_t a = normalize_axis(kOp, axis, x.rank());
  require(source.rank() == x.rank(), kOp, "a source of shape ", source.shape(),
          " needs as many axes as x of shape ", x.shape());
  detail::check_index(kOp, "x", x, a, index);
  for (index_t i = 0; i < index.rank(); ++i) {
    require(index.shape()[i] <= source.shape()[i], kOp, "index of shape ", index.shape(),
            " is larger than the source, ", source.shape(), ", on axis ", i);
  }
  const Tensor part = beside(index, source);
  Recording op(kOp, {&x, &part});
  const Tensor y = x.clone();
  detail::put(part, detail::lookup_elements(y.strides(), a, index), y);
  return op.finish(y, [&] {
    return [a, index = op.save(index)](const Tensor& dy, Gradients& dx) {
      dx.add(0, dy);
      if (dx.wanted(1)) dx.add(1, gather(dy, a, index));
    };
  });
}

Tensor index_add(const Tensor& x, index_t axis, const Tensor& ids, const Tensor& source,
                 Scalar alpha) {
  constexpr const char* kOp = "index_add";
  check_source(kOp, x, source);
  const index_t a = normalize_axis(kOp, axis, x.rank());
  require(!ids.defined() || ids.rank() == 1, kOp, "ids must have one axis, not shape ",
          ids.shape());
  detail::check_ids(kOp, ids, x.shape()[a], "positions of the axis");
  Shape shape = x.shape();
  shape[a] = ids.count();
  require(source.shape() == shape, kOp, "a source of shape ", source.shape(), " is not ", shape,
          ", which x of shape ", x.shape(), " and ", ids.count(), " ids want");
  const bool scaled = alpha.value() != 1;
  require(!scaled || alpha.dtype_beside(x.dtype()) == x.dtype(), kOp, "a tensor of ", x.dtype(),
          " cannot hold an alpha of ", alpha.value());
  Recording op(kOp, {&x, &source});
  const Tensor y = x.clone();
  detail::put(scaled ? source * alpha : source, detail::lookup_slices(y.strides(), a, ids, shape),
              y);
  return op.finish(y, [&] {
    return [a, scaled, alpha, ids = op.save(ids)](const Tensor& dy, Gradients& dx) {
      dx.add(0, dy);
      if (!dx.wanted(1)) return;
      const Tensor chosen = index_select(dy, a, ids);
      dx.add(1, scaled ? chosen * alpha : chosen);
    };
  });
}

}  // namespace tessera
