#include "tessera/tensor/ops/positions.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/detail/rotation.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera {

Tensor sinusoidal_positions(index_t positions, index_t width, DType dtype) {
  Tensor table = Tensor::empty({positions, width}, kFloat64);
  double* out = table.mutable_data<double>();
  for (index_t position = 0; position < positions; ++position) {
    for (index_t column = 0; column < width; ++column) {
      const double exponent = static_cast<double>(column - column % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
      *out++ = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(dtype);
}

Tensor rotary_table(index_t positions, index_t width, double base, DType dtype, double divisor) {
  constexpr const char* kOp = "rotary_table";
  require(width >= 0 && width % 2 == 0, kOp, "width must be even and at least 0, got ", width);
  require(base > 0 && std::isfinite(base), kOp, "base must be positive and finite, got ", base);
  require(divisor > 0 && std::isfinite(divisor), kOp, "divisor must be positive and finite, got ",
          divisor);
  require(is_floating(dtype), kOp, "dtype must be floating, got ", dtype);
  const index_t pairs = width / 2;
  Tensor angles = Tensor::empty({positions, pairs}, kFloat64);
  double* const out = angles.mutable_data<double>();
  for (index_t k = 0; k < pairs; ++k) {
    const float exponent = static_cast<float>(2 * k) / static_cast<float>(width);
    const float frequency = 1 / static_cast<float>(std::pow(base, static_cast<double>(exponent))) /
                            static_cast<float>(divisor);
    for (index_t p = 0; p < positions; ++p) {
      const float angle = static_cast<float>(p) * frequency;
      out[p * pairs + k] = static_cast<double>(angle);
    }
  }
  return concat({cos(angles), sin(angles)}, 1).to(dtype);
}

namespace detail {

namespace {

void check_table(const char* op, const Tensor& table, index_t width, DType dtype) {
  require(table.rank() == 2 && table.size(1) % 2 == 0, op,
          "table must have shape (positions, r) with an even r, got ", table.shape(),
          "; rotary_table() makes one");
  require(table.size(1) <= width, op, "table must have at most the ", width,
          " columns of a head, got ", table.size(1));
  require(table.dtype() == dtype, op, "table must be ", dtype, " like the heads, got ",
          table.dtype());
  refuse_gradient(op, {&table});
}

/// The position of each row.
Tensor checked_positions(const char* op, const Tensor& positions, const Shape& tokens,
                         index_t limit) {
  require(positions.dtype() == kInt64, op, "positions must be int64, got ", positions.dtype());
  require(broadcasts_to(positions.shape(), tokens), op,
          "positions must broadcast to the tokens' shape ", tokens, ", got ", positions.shape());
  const Tensor all = positions.expand(tokens).contiguous();
  const index_t* const first = all.data<index_t>();
  const auto is_outside = [&](index_t p) { return p < 0 || p >= limit; };
  const index_t* const outside = std::find_if(first, first + all.count(), is_outside);
  if (outside != first + all.count()) {
    fail(op, "positions must be in [0, ", limit, "), the rows of the table, got ", *outside);
  }
  return all;
}

/// x (..., T, H, d) as (B, T, H, d), without a copy if one stride covers the leading axes.
Tensor with_one_batch(const Tensor& x) {
  index_t batch = 1;
  for (index_t i = 0; i + 3 < x.rank(); ++i) batch *= x.shape()[i];
  return x.reshape({batch, x.size(-3), x.size(-2), x.size(-1)});
}

/// x and y are (B, T, H, d).
template <class T>
void run(const HeadRotation& rotation, const Tensor& x, Tensor& y, bool back) {
  const Strides &from = x.strides(), &to = y.strides();
  const kernels::RotaryArgs<T> all = {.rotation = rotation.for_kernel<T>(),
                                      .x = {x.data<T>(), from[0], from[2], from[1]},
                                      .y = {y.mutable_data<T>(), to[0], to[2], to[1]},
                                      .rows = 0,
                                      .back = back};
  const auto kernel = kernels::table<T>().rotary;
  kernels::parallel_for(x.size(0) * x.size(1), rotation.heads * rotation.width,
                        [&](index_t begin, index_t end) {
                          kernels::RotaryArgs<T> part = all;
                          part.first_row = begin;
                          part.rows = end - begin;
                          kernel(part);
                        });
}

}  // namespace

HeadRotation checked_rotation(const char* op, const Rotation& rotation, const Shape& tokens,
                              index_t heads, index_t width, DType dtype) {
  require(rotation.table.defined(), op, "rotation must have a table, got none");
  check_table(op, rotation.table, width, dtype);
  const index_t limit = rotation.table.size(0);
  HeadRotation result = {.table = rotation.table.detach().contiguous(),
                         .positions = {},
                         .tokens = std::max<index_t>(tokens.back(), 1),
                         .heads = heads,
                         .width = width,
                         .interleaved = rotation.interleaved};
  if (rotation.positions.defined()) {
    result.positions = checked_positions(op, rotation.positions, tokens, limit);
  } else {
    require(tokens.back() <= limit, op, "number of tokens must be at most ", limit,
            ", the positions of the table, got ", tokens.back());
  }
  return result;
}

void rotate_heads(const HeadRotation& rotation, const Tensor& x, Tensor y, bool back) {
  if (x.count() == 0) return;
  Tensor from = with_one_batch(x);
  if (from.size(3) > 1 && from.strides()[3] != 1) from = from.contiguous();
  Tensor to = with_one_batch(y);
  visit_floating(x.dtype(), [&](auto kind) { run<decltype(kind)>(rotation, from, to, back); });
}

Tensor rotate_columns_back(const HeadRotation& rotation, const Tensor& dy) {
  const bool in_place = is_own(dy);
  Tensor result = in_place ? dy.detach() : Tensor::empty(dy.shape(), dy.dtype());
  const index_t columns = rotation.heads * rotation.width;
  const auto heads = [&](const Tensor& x) {
    const Tensor rows = x.rank() > 1 ? x : x.unsqueeze(0);
    return rows.slice(-1, 0, columns).unflatten(-1, {rotation.heads, rotation.width});
  };
  if (columns > 0) rotate_heads(rotation, heads(dy), heads(result), true);
  if (!in_place) result.slice(-1, columns).copy_from(dy.slice(-1, columns));
  return result;
}

}  // namespace detail

Tensor rotary(const Tensor& x, const Rotation& rotation) {
  constexpr const char* kOp = "rotary";
  require(x.defined(), kOp, "x must be defined, got an undefined tensor");
  require(x.rank() >= 3 && is_floating(x.dtype()), kOp,
          "x must be floating of shape (..., T, H, d), got ", x.dtype(), ' ', x.shape());
  Shape tokens = x.shape();
  tokens.erase(tokens.size() - 1);
  tokens.erase(tokens.size() - 1);
  const detail::HeadRotation of_heads =
      detail::checked_rotation(kOp, rotation, tokens, x.size(-2), x.size(-1), x.dtype());
  Recording op(kOp, {&x});
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  detail::rotate_heads(of_heads, x, y, false);
  return op.finish(y, [&] {
    return [saved = detail::SavedRotation(op, of_heads)](const Tensor& dy, Gradients& dx) {
      const Tensor result = Tensor::empty(dy.shape(), dy.dtype());
      detail::rotate_heads(saved.get(), dy, result, true);
      dx.add(0, result);
    };
  });
}

}  // namespace tessera
