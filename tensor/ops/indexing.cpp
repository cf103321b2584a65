#include "tensor/ops/indexing.h"

#include <algorithm>

#include "tensor/autograd/recording.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/loop.h"

namespace tessera {

namespace {

/// Checks before any thread starts: an exception must not leave a parallel region.
void check_ids(const char* op, const Tensor& ids, index_t limit, const char* what) {
  require(ids.defined(), op, "the ids are undefined");
  require(ids.dtype() == kInt64, op, "ids must be int64, not ", ids.dtype());
  const Tensor flat = ids.contiguous();
  const index_t* values = flat.data<index_t>();
  for (index_t i = 0; i < flat.count(); ++i) {
    require(0 <= values[i] && values[i] < limit, op, "id ", values[i], " is out of range for ",
            limit, " ", what);
  }
}

/// How each element of a result finds its own in x: element i at i * strides + index[i] * id_stride,
/// where `index` has the result's shape and strides are 0 along the axes that the ids choose from.
struct Lookup {
  Strides strides;
  index_t id_stride;
  Tensor index;
};

/// The elements of x that `lookup` finds.
Tensor take(const Tensor& x, const Lookup& lookup) {
  const Tensor& index = lookup.index;
  const index_t id_stride = lookup.id_stride;
  Tensor result = Tensor::empty(index.shape(), x.dtype());
  const auto plan =
      plan_loop<3>(index.shape(), {result.strides(), lookup.strides, index.strides()});
  const index_t x_step = plan.strides[1].back();
  const index_t id_step = plan.strides[2].back();
  const index_t* ids = index.data<index_t>();
  visit_dtype(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    T* const to = result.mutable_data<T>();
    const T* const from = x.data<T>();
    for_each_row(plan, 2, [&](const std::array<index_t, 3>& offsets, index_t n) {
      T* out = to + offsets[0];  // contiguous: every plan of a new tensor steps by 1
      const T* in = from + offsets[1];
      const index_t* id = ids + offsets[2];
      if (x_step == 1 && id_step == 0) {
        std::copy_n(in + *id * id_stride, n, out);
      } else {
        for (index_t i = 0; i < n; ++i) out[i] = in[i * x_step + id[i * id_step] * id_stride];
      }
    });
  });
  return result;
}

/// Adds each element of dy to the element of dx that `lookup` finds, in row-major order, one after
/// another: several may meet in one.
void put(const Tensor& dy, const Lookup& lookup, Tensor dx) {
  const Tensor& index = lookup.index;
  const auto plan = plan_loop<3>(index.shape(), {dy.strides(), lookup.strides, index.strides()});
  const index_t n = plan.row_length();
  const index_t rows = dy.count() > 0 ? plan.row_count() : 0;
  const index_t* ids = index.data<index_t>();
  const index_t dy_step = plan.strides[0].back();
  const index_t x_step = plan.strides[1].back();
  const index_t id_step = plan.strides[2].back();
  visit_dtype(dx.dtype(), [&](auto kind) {
    using T = decltype(kind);
    T* const to = dx.mutable_data<T>();
    const T* const from = dy.data<T>();
    for (index_t row = 0; row < rows; ++row) {
      const auto offsets = row_offsets(plan, row);
      const T* in = from + offsets[0];
      T* out = to + offsets[1];
      const index_t* id = ids + offsets[2];
      for (index_t i = 0; i < n; ++i) {
        T& sum = out[i * x_step + id[i * id_step] * lookup.id_stride];
        sum = static_cast<T>(sum + in[i * dy_step]);
      }
    }
  });
}

/// take, recorded. `lookup_in(x)` gives the lookup for an x of these strides: its gradient has its
/// shape, but not its strides.
template <class LookupIn>
Tensor choose(const char* op, const Tensor& x, const LookupIn& lookup_in) {
  Recording scope(op, {&x});
  return scope.finish(take(x, lookup_in(x.strides())), [&] {
    return [lookup = lookup_in(row_major_strides(x.shape()))](const Tensor& dy, Gradients& dx) {
      put(dy, lookup, dx.buffer(0));
    };
  });
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  require(weight.defined() && weight.rank() == 2, "embedding",
          "the table must have shape (V, D), not ", weight.shape());
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
  require(x.defined(), "index_select", "x is undefined");
  const index_t a = normalize_axis("index_select", axis, x.rank());
  require(!ids.defined() || ids.rank() == 1, "index_select", "ids must have one axis, not shape ",
          ids.shape());
  check_ids("index_select", ids, x.shape()[a], "positions of the axis");
  Shape column = Shape::filled(x.rank(), 1);
  Shape shape = x.shape();
  column[a] = shape[a] = ids.count();
  return choose("index_select", x, [&](const Strides& of_x) {
    Strides strides = of_x;
    strides[a] = 0;
    return Lookup{strides, of_x[a], ids.reshape(column).expand(shape)};
  });
}

Tensor gather(const Tensor& x, index_t axis, const Tensor& index) {
  require(x.defined(), "gather", "x is undefined");
  const index_t a = normalize_axis("gather", axis, x.rank());
  require(!index.defined() || index.rank() == x.rank(), "gather", "index of shape ", index.shape(),
          " needs as many axes as x of shape ", x.shape());
  for (index_t i = 0; i < index.rank(); ++i) {
    require(i == a || index.shape()[i] <= x.shape()[i], "gather", "index of shape ", index.shape(),
            " is larger than x, ", x.shape(), ", on axis ", i);
  }
  check_ids("gather", index, x.shape()[a], "positions of the axis");
  return choose("gather", x, [&](const Strides& of_x) {
    Strides strides = of_x;
    strides[a] = 0;
    return Lookup{strides, of_x[a], index};
  });
}

Tensor one_hot(const Tensor& ids, index_t classes, DType dtype) {
  require(classes >= 0, "one_hot", "the number of classes must not be negative, is ", classes);
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

/// Copies, for each row i of the last two axes, columns [first(i), last(i)); zeros elsewhere.
template <class First, class Last>
Tensor copy_columns(const char* op, const Tensor& x, const First& first, const Last& last) {
  require(x.rank() >= 2, op, "needs at least two axes, not shape ", x.shape());
  const Tensor result = zeros(x.shape(), x.dtype());
  for (index_t i = 0; i < (x.count() > 0 ? x.size(-2) : 0); ++i) {
    const auto part = [&](const Tensor& of) {
      return of.select(-2, i).slice(-1, first(i), last(i));
    };
    part(result).copy_from(part(x));
  }
  return result;
}

}  // namespace

Tensor tril(const Tensor& x, index_t diagonal) {
  Recording op("tril", {&x});
  const Tensor y = copy_columns(
      "tril", x, [](index_t) { return index_t{0}; },
      [&](index_t i) {
        const index_t columns = x.size(-1);
        return std::clamp<index_t>(i + 1 + std::min(diagonal, columns), 0, columns);
      });
  return op.finish(y, [&] {
    return [diagonal](const Tensor& dy, Gradients& dx) { dx.add(0, tril(dy, diagonal)); };
  });
}

Tensor triu(const Tensor& x, index_t diagonal) {
  Recording op("triu", {&x});
  const Tensor y = copy_columns(
      "triu", x,
      [&](index_t i) {
        const index_t columns = x.size(-1);
        return std::clamp<index_t>(i + std::min(diagonal, columns), 0, columns);
      },
      [&](index_t) { return x.size(-1); });
  return op.finish(y, [&] {
    return [diagonal](const Tensor& dy, Gradients& dx) { dx.add(0, triu(dy, diagonal)); };
  });
}

}  // namespace tessera
