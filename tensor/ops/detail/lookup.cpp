#include "tessera/tensor/ops/detail/lookup.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::detail {

void check_ids(const char* op, const Tensor& ids, index_t limit, const char* what,
               const char* name) {
  require(ids.defined(), op, name, " must be defined, got an undefined tensor");
  require(ids.dtype() == kInt64, op, name, " must be int64, got ", ids.dtype());
  const Tensor flat = ids.contiguous();
  const index_t* values = flat.data<index_t>();
  for (index_t i = 0; i < flat.count(); ++i) {
    require(0 <= values[i] && values[i] < limit, op, name, " must be in [0, ", limit, ") for ",
            limit, " ", what, ", got ", values[i]);
  }
}

void check_index(const char* op, const char* name, const Tensor& x, index_t axis,
                 const Tensor& index) {
  require(!index.defined() || index.rank() == x.rank(), op, "index must have as many axes as ",
          name, ' ', x.shape(), ", got shape ", index.shape());
  for (index_t i = 0; i < index.rank(); ++i) {
    require(i == axis || index.shape()[i] <= x.shape()[i], op, "index must not be larger than ",
            name, ' ', x.shape(), " on axis ", i, ", got shape ", index.shape());
  }
  check_ids(op, index, x.shape()[axis], "positions of the axis", "index");
}

Lookup lookup_elements(const Strides& strides, index_t axis, const Tensor& index) {
  Lookup lookup = {strides, strides[axis], index};
  lookup.strides[axis] = 0;
  return lookup;
}

Lookup lookup_slices(const Strides& strides, index_t axis, const Tensor& ids, const Shape& shape) {
  Shape column = Shape::filled(shape.size(), 1);
  column[axis] = ids.count();
  return lookup_elements(strides, axis, ids.reshape(column).expand(shape));
}

Tensor take(const Tensor& x, const Lookup& lookup) {
  const Tensor& index = lookup.index;
  const index_t id_stride = lookup.id_stride;
  Tensor result = Tensor::empty(index.shape(), x.dtype());
  count_work(0, 2 * static_cast<double>(result.count() * item_size(x.dtype())));  // not all of x
                                                                                  // completely
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

namespace {

/// a + b with the rules of `add`: int64 wraps around, bools give a || b.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_same_v<T, index_t>) {
    return static_cast<index_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

/// sum[i] += part[i].
template <class T>
void add_row(index_t n, const T* part, index_t part_step, T* sum) {
  for (index_t i = 0; i < n; ++i) sum[i] = sum_of(sum[i], part[i * part_step]);
}

/// Both plans step through `from`, `to` and the ids.
template <class T>
void put_elements(const LoopPlan<3>& outer, const LoopPlan<3>& indexed, index_t id_stride,
                  const Tensor& source, const Tensor& index, Tensor& target) {
  const T* const from = source.data<T>();
  T* const to = target.mutable_data<T>();
  const index_t* const ids = index.data<index_t>();
  const index_t indexed_rows = indexed.row_count();
  const index_t indexed_length = indexed.row_length();
  const index_t from_step = outer.strides[0].back();
  // Rows of adjacent elements with the same id are added as a whole, otherwise one element at a
  // time.
  const bool by_rows = outer.strides[1].back() == 1 && outer.strides[2].back() == 0;
  const auto add = [&] {
    if constexpr (std::is_floating_point_v<T>) {
      return [kernel = kernels::table<T>().binary](index_t n, const T* part, index_t step, T* sum) {
        kernel(kernels::BinaryOp::kAdd, n, sum, 1, part, step, sum);
      };
    } else {
      return add_row<T>;
    }
  }();
  const auto put = [&](const std::array<index_t, 3>& at, index_t n) {
    const index_t length = by_rows ? n : 1;
    for (index_t i = 0; i < n; i += length) {
      const T* in = from + at[0] + i * from_step;
      T* out = to + at[1] + i * outer.strides[1].back();
      const index_t* id = ids + at[2] + i * outer.strides[2].back();
      for (index_t row = 0; row < indexed_rows; ++row) {
        const auto offsets = row_offsets(indexed, row);
        for (index_t j = 0; j < indexed_length; ++j) {
          const T* part = in + offsets[0] + j * indexed.strides[0].back();
          T* sum = out + id[offsets[2] + j * indexed.strides[2].back()] * id_stride;
          if (by_rows) {
            add(n, part, from_step, sum);
          } else {
            *sum = sum_of(*sum, *part);
          }
        }
      }
    }
  };
  for_each_row(outer, 2 * indexed_rows * indexed_length, put);
}

}  // namespace

void put(const Tensor& from, const Lookup& lookup, Tensor to) {
  if (from.count() == 0) return;
  const Tensor& index = lookup.index;
  Shape outer_shape, indexed_shape;
  std::array<Strides, 3> outer, indexed;  // of `from`, `to` and the ids
  for (index_t axis = 0; axis < from.rank(); ++axis) {
    const bool is_indexed = lookup.strides[axis] == 0;
    (is_indexed ? indexed_shape : outer_shape).push_back(from.shape()[axis]);
    auto& strides = is_indexed ? indexed : outer;
    strides[0].push_back(from.strides()[axis]);
    strides[1].push_back(lookup.strides[axis]);
    strides[2].push_back(index.strides()[axis]);
  }
  const auto outer_plan = plan_loop<3>(outer_shape, outer);
  const auto indexed_plan = plan_loop<3>(indexed_shape, indexed);
  visit_dtype(to.dtype(), [&](auto kind) {
    put_elements<decltype(kind)>(outer_plan, indexed_plan, lookup.id_stride, from, index, to);
  });
}

}  // namespace tessera::detail
