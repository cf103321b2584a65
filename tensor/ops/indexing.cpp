#include "tensor/ops/indexing.h"

#include <algorithm>
#include <array>

#include "tensor/autograd/recording.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
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

/// Both plans step through dy, dx and the ids.
template <class T>
void put_elements(const LoopPlan<3>& own, const LoopPlan<3>& met, index_t id_stride,
                  const Tensor& dy, const Tensor& index, Tensor& dx) {
  const auto add = kernels::table().of<T>().binary;
  const T* const from = dy.data<T>();
  T* const to = dx.mutable_data<T>();
  const index_t* const ids = index.data<index_t>();
  const index_t met_rows = met.row_count();
  const index_t met_length = met.row_length();
  const index_t dy_step = own.strides[0].back();
  // Whole rows of neighbours at a time, which share their id; else one place after the other.
  const bool by_rows = own.strides[1].back() == 1 && own.strides[2].back() == 0;
  for_each_row(own, 2 * met_rows * met_length, [&](const std::array<index_t, 3>& at, index_t n) {
    const index_t length = by_rows ? n : 1;
    for (index_t i = 0; i < n; i += length) {
      const T* in = from + at[0] + i * dy_step;
      T* out = to + at[1] + i * own.strides[1].back();
      const index_t* id = ids + at[2] + i * own.strides[2].back();
      for (index_t row = 0; row < met_rows; ++row) {
        const auto offsets = row_offsets(met, row);
        for (index_t j = 0; j < met_length; ++j) {
          const T* part = in + offsets[0] + j * met.strides[0].back();
          T* sum = out + id[offsets[2] + j * met.strides[2].back()] * id_stride;
          if (by_rows) {
            add(kernels::BinaryOp::kAdd, n, sum, 1, part, dy_step, sum);
          } else {
            *sum += *part;
          }
        }
      }
    }
  });
}

/// Adds each element of dy to the element of dx that `lookup` finds. Several may meet in one, so the
/// axes that the ids choose from are walked in row-major order within a thread; threads share the
/// others, along which no two elements meet.
void put(const Tensor& dy, const Lookup& lookup, Tensor dx) {
  if (dy.count() == 0) return;
  const Tensor& index = lookup.index;
  Shape own_shape, met_shape;
  std::array<Strides, 3> own, met;  // of dy, dx and the ids
  for (index_t axis = 0; axis < dy.rank(); ++axis) {
    const bool meets = lookup.strides[axis] == 0;
    (meets ? met_shape : own_shape).push_back(dy.shape()[axis]);
    auto& strides = meets ? met : own;
    strides[0].push_back(dy.strides()[axis]);
    strides[1].push_back(lookup.strides[axis]);
    strides[2].push_back(index.strides()[axis]);
  }
  const auto own_plan = plan_loop<3>(own_shape, own);
  const auto met_plan = plan_loop<3>(met_shape, met);
  visit_floating(dx.dtype(), [&](auto kind) {
    put_elements<decltype(kind)>(own_plan, met_plan, lookup.id_stride, dy, index, dx);
  });
}

/// take, recorded. `lookup_in(x)` gives the lookup for an x of these strides: its gradient has its
/// shape, but not its strides.
template <class LookupIn>
Tensor choose(const char* op, const Tensor& x, const LookupIn& lookup_in) {
  Recording scope(op, {&x});
  return scope.finish(take(x, lookup_in(x.strides())), [&] {
    const Lookup into = lookup_in(row_major_strides(x.shape()));
    return [strides = into.strides, id_stride = into.id_stride, index = scope.save(into.index)](
               const Tensor& dy, Gradients& dx) {
      const Lookup lookup = {strides, id_stride, index};  // before the leaf's gradient is touched
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
