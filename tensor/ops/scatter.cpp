#include "tensor/ops/scatter.h"

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/detail/lookup.h"
#include "tensor/ops/indexing.h"

namespace tessera {

namespace {

void check_source(const char* op, const Tensor& x, const Tensor& source) {
  require(x.defined() && source.defined(), op,
          "x and source must be defined, got an undefined tensor");
  require(source.dtype() == x.dtype(), op, "source must be ", x.dtype(), " like x, got ",
          source.dtype());
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
  require(source.rank() == x.rank(), kOp, "source must have as many axes as x ", x.shape(),
          ", got shape ", source.shape());
  detail::check_index(kOp, "x", x, a, index);
  for (index_t i = 0; i < index.rank(); ++i) {
    require(index.shape()[i] <= source.shape()[i], kOp, "index must not be larger than source ",
            source.shape(), " on axis ", i, ", got shape ", index.shape());
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
  require(!ids.defined() || ids.rank() == 1, kOp, "ids must have 1 axis, got shape ", ids.shape());
  detail::check_ids(kOp, ids, x.shape()[a], "positions of the axis");
  Shape shape = x.shape();
  shape[a] = ids.count();
  require(source.shape() == shape, kOp, "source must have shape ", shape, " for x ", x.shape(),
          " and ", ids.count(), " ids, got ", source.shape());
  const bool scaled = alpha.value() != 1;
  require(!scaled || alpha.dtype_with(x.dtype()) == x.dtype(), kOp, "alpha must fit dtype ",
          x.dtype(), ", got ", alpha.value());
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
