// The common part of elementwise ops: broadcast operands, row by row. Private to tensor/ops.
#pragma once

#include <array>
#include <tuple>
#include <utility>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/tensor.h"

namespace tessera::detail {

/// A piece of a row of an operand: `row[i]` is its element i.
template <class T>
struct Row {
  const T* first;
  index_t step;
  T operator[](index_t i) const { return first[i * step]; }
};

inline void require_defined(const char* op, const Tensor& x) {
  require(x.defined(), op, "tensors must be defined, got an undefined one");
}

/// A new tensor of `shape`, filled by calls `body(out, n, rows...)`, one row for each of `inputs`,
/// which broadcast to `shape` and have the dtypes In. One element costs about `cost` operations.
template <class Out, class... In, class Body>
Tensor map_rows(const Shape& shape, const std::array<Tensor, sizeof...(In)>& inputs, index_t cost,
                const Body& body) {
  constexpr std::size_t kOperands = 1 + sizeof...(In);
  Tensor result = Tensor::empty(shape, dtype_of<Out>);
  std::array<Strides, kOperands> strides{result.strides()};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    strides[i + 1] = inputs[i].expand(shape).strides();
  }
  const auto plan = plan_loop<kOperands>(shape, strides);
  Out* const out = result.mutable_data<Out>();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const std::tuple<const In*...> firsts(inputs[I].template data<In>()...);
    for_each_row(plan, cost, [&](const std::array<index_t, kOperands>& offsets, index_t n) {
      body(out + offsets[0], n,
           Row<In>{std::get<I>(firsts) + offsets[I + 1], plan.strides[I + 1].back()}...);
    });
  }
  (std::index_sequence_for<In...>{});
  return result;
}

/// map_rows with an `f` that takes one element of each input.
template <class Out, class... In, class F>
Tensor map_elements(const Shape& shape, const std::array<Tensor, sizeof...(In)>& inputs,
                    index_t cost, const F& f) {
  return map_rows<Out, In...>(shape, inputs, cost, [&](Out* out, index_t n, Row<In>... rows) {
    for (index_t i = 0; i < n; ++i) out[i] = f(rows[i]...);
  });
}

/// A new tensor with element `f(row, n)` for each row along the last axis of `x`, as `shape`.
template <class Out, class In, class F>
Tensor reduce_rows(const Tensor& x, const Shape& shape, const F& f) {
  const index_t n = x.size(-1);
  const index_t step = x.strides().back();
  const Shape kept = reduced_shape(x.shape(), {x.rank() - 1}, false);
  const Tensor firsts = n > 0 ? x.select(-1, 0) : Tensor::empty(kept, x.dtype());
  const auto body = [&](Out* out, index_t count, Row<In> starts) {
    for (index_t i = 0; i < count; ++i) {
      out[i] = f(Row<In>{starts.first + i * starts.step, step}, n);
    }
  };
  return map_rows<Out, In>(kept, {firsts}, n, body).reshape(shape);
}

/// dy times the derivative of `op`, where `s` is its x or y: see kernels::gradient_reads_x.
Tensor unary_gradient(kernels::UnaryOp op, const Tensor& s, const Tensor& dy);

}  // namespace tessera::detail
