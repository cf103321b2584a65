#include "tessera/tensor/ops/indexing.h"

#include <algorithm>
#include <vector>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/detail/lookup.h"

namespace tessera {

namespace {

using detail::check_ids;
using detail::Lookup;

/// take, recorded. `lookup_in(x)` gives the lookup for an x of these strides: its gradient has its
/// shape, but not its strides.
template <class LookupIn>
Tensor choose(const char* op, const Tensor& x, const LookupIn& lookup_in) {
  Recording recording(op, {&x});
  return recording.finish(detail::take(x, lookup_in(x.strides())), [&] {
    const Lookup into = lookup_in(row_major_strides(x.shape()));
    return [strides = into.strides, id_stride = into.id_stride, index = recording.save(into.index)](
               const Tensor& dy, Gradients& dx) {
      const Lookup lookup = {strides, id_stride, index};  // before the leaf's gradient changes
      detail::put(dy, lookup, dx.buffer(0));
    };
  });
}

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& weight) {
  require(weight.defined() && weight.rank() == 2, "embedding",
          "weight must have shape (V, D), got ", weight.shape());
  check_ids("embedding", ids, weight.size(0), "rows of the table");
  Shape shape = ids.shape();
  shape.push_back(weight.size(1));
  return choose("embedding", weight, [&](const Strides& table) {
    Strides strides = Strides::filled(ids.rank(), 0);
    strides.push_back(table[1]);
    return Lookup{strides, table[0], ids.unsqueeze(-1).expand(shape)};
  });
}

Tensor index_select(const Tensor& x, index_t axis, const Tensor& ids) {
  require(x.defined(), "index_select", "x must be defined, got an undefined tensor");
  const index_t a = normalize_axis("index_select", axis, x.rank());
  require(!ids.defined() || ids.rank() == 1, "index_select", "ids must have 1 axis, got shape ",
          ids.shape());
  check_ids("index_select", ids, x.shape()[a], "positions of the axis");
  Shape shape = x.shape();
  shape[a] = ids.count();
  return choose("index_select", x,
                [&](const Strides& of_x) { return detail::lookup_slices(of_x, a, ids, shape); });
}

Tensor gather(const Tensor& x, index_t axis, const Tensor& index) {
  require(x.defined(), "gather", "x must be defined, got an undefined tensor");
  const index_t a = normalize_axis("gather", axis, x.rank());
  detail::check_index("gather", "x", x, a, index);
  return choose("gather", x,
                [&](const Strides& of_x) { return detail::lookup_elements(of_x, a, index); });
}

Tensor one_hot(const Tensor& ids, index_t classes, DType dtype) {
  require(classes >= 0, "one_hot", "classes must be at least 0, got ", classes);
  check_ids("one_hot", ids, classes, "classes");
  Shape shape = ids.shape();
  shape.push_back(classes);
  Tensor result = zeros(shape, dtype);
  const Tensor flat = ids.contiguous();
  const index_t* id = flat.data<index_t>();
  visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    T* out = result.mutable_data<T>();
    for (index_t i = 0; i < flat.count(); ++i) out[i * classes + id[i]] = T{1};
  });
  return result;
}

namespace {

/// The positions of the true elements in the row-major order of a bool tensor.
std::vector<index_t> places_of_true(const Tensor& mask) {
  const Tensor flat = mask.contiguous();
  const bool* const values = flat.data<bool>();
  std::vector<index_t> places;
  for (index_t i = 0; i < flat.count(); ++i) {
    if (values[i]) places.push_back(i);
  }
  return places;
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  require(x.defined(), "nonzero", "x must be defined, got an undefined tensor");
  const std::vector<index_t> places = places_of_true(x.detach().to(kBool));
  Tensor result = Tensor::empty({std::ssize(places), x.rank()}, kInt64);
  index_t* const out = result.mutable_data<index_t>();
  for (index_t i = 0; i < result.size(0); ++i) {
    index_t place = places[static_cast<std::size_t>(i)];
    for (index_t axis = x.rank() - 1; axis >= 0; --axis) {
      out[i * x.rank() + axis] = place % x.shape()[axis];
      place /= x.shape()[axis];
    }
  }
  return result;
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  require(x.defined() && mask.defined(), "masked_select",
          "x and mask must be defined, got an undefined tensor");
  require(mask.dtype() == kBool, "masked_select", "mask must be bool, got ", mask.dtype());
  const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  const Tensor places = from_vector(places_of_true(mask.expand(shape)));
  return index_select(x.expand(shape).reshape({element_count("masked_select", shape)}), 0, places);
}

namespace {

/// The elements on a diagonal of the last two axes and on one side of it; zeros elsewhere.
Tensor triangle(const char* op, const Tensor& x, index_t diagonal, bool is_lower) {
  Recording recording(op, {&x});
  require(x.rank() >= 2, op, "x must have at least 2 axes, got shape ", x.shape());
  const Tensor y = zeros(x.shape(), x.dtype());
  const index_t columns = x.size(-1);
  for (index_t i = 0; i < (x.count() > 0 ? x.size(-2) : 0); ++i) {
    const index_t end = i + std::min(diagonal, columns) + (is_lower ? 1 : 0);
    const index_t cut = std::clamp<index_t>(end, 0, columns);
    const auto part = [&](const Tensor& of) {
      return of.select(-2, i).slice(-1, is_lower ? 0 : cut, is_lower ? cut : columns);
    };
    part(y).copy_from(part(x));
  }
  return recording.finish(y, [&] {
    return [op, diagonal, is_lower](const Tensor& dy, Gradients& dx) {
      dx.add(0, triangle(op, dy, diagonal, is_lower));
    };
  });
}

}  // namespace

Tensor tril(const Tensor& x, index_t diagonal) {
  return triangle("tril", x, diagonal, true);
}

Tensor triu(const Tensor& x, index_t diagonal) {
  return triangle("triu", x, diagonal, false);
}

// ---- sums at the positions that ids name ----

namespace {

void check_source(const char* op, const Tensor& x, const Tensor& source) {
  require(x.defined() && source.defined(), op,
          "x and source must be defined, got an undefined tensor");
  require(source.dtype() == x.dtype(), op, "source must be ", x.dtype(), " like x, got ",
          source.dtype());
}

/// The first part of `source` that has this shape; recorded.
Tensor cut_to(const Shape& shape, Tensor source) {
  for (index_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != source.shape()[axis]) source = source.slice(axis, 0, shape[axis]);
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
  const Tensor part = cut_to(index.shape(), source);
  Recording op(kOp, {&x, &part});
  const Tensor y = x.clone();
  detail::put(part, detail::lookup_elements(y.strides(), a, index), y);
  return op.finish(y, [&] {
    return [a, index = op.save(index)](const Tensor& dy, Gradients& dx) {
      dx.add(0, dy);
      if (dx.needs_gradient(1)) dx.add(1, gather(dy, a, index));
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
      if (!dx.needs_gradient(1)) return;
      const Tensor chosen = index_select(dy, a, ids);
      dx.add(1, scaled ? chosen * alpha : chosen);
    };
  });
}

}  // namespace tessera
