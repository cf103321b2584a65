#include "tessera/tensor/ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/detail/map.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera {

namespace {

using detail::map_elements;
using detail::map_rows;
using detail::Row;
using kernels::BinaryOp;

/// base^exponent modulo 2^64, by squaring; the exponent is not negative.
index_t integer_power(index_t base, index_t exponent) {
  std::uint64_t result = 1;
  for (auto square = static_cast<std::uint64_t>(base); exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return static_cast<index_t>(result);
}

/// The op on integers, modulo 2^64.
index_t apply(BinaryOp kind, index_t a, index_t b) {
  const auto p = static_cast<std::uint64_t>(a);
  const auto q = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryOp::kAdd:
      return static_cast<index_t>(p + q);
    case BinaryOp::kSub:
      return static_cast<index_t>(p - q);
    case BinaryOp::kMul:
      return static_cast<index_t>(p * q);
    case BinaryOp::kPow:
      return integer_power(a, b);
    case BinaryOp::kMaximum:
      return std::max(a, b);
    case BinaryOp::kMinimum:
      return std::min(a, b);
    case BinaryOp::kDiv:
      break;
  }
  return 0;  // unreachable: Div is computed in floating point
}

/// Elementary operations per element, for the decision to use threads.
constexpr index_t cost_of(BinaryOp kind) {
  return kind == BinaryOp::kPow ? 32 : 1;
}

/// `kind` of two tensors of one dtype.
Tensor binary(const char* op, BinaryOp kind, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  if (is_floating(a.dtype())) {
    return visit_floating(a.dtype(), [&](auto t) {
      using T = decltype(t);
      const auto kernel = kernels::table<T>().binary;
      return map_rows<T, T, T>(shape, {a, b}, cost_of(kind),
                               [&](T* out, index_t n, Row<T> x, Row<T> y) {
                                 kernel(kind, n, x.first, x.step, y.first, y.step, out);
                               });
    });
  }
  if (a.dtype() == kInt64) {
    return map_elements<index_t, index_t, index_t>(
        shape, {a, b}, 1, [&](index_t x, index_t y) { return apply(kind, x, y); });
  }
  require(kind != BinaryOp::kSub, op,
          "operands must not both be bool, got bool; convert one with to(kInt64)");
  return map_elements<bool, bool, bool>(shape, {a, b}, 1, [&](bool x, bool y) {
    return kind == BinaryOp::kAdd || kind == BinaryOp::kMaximum ? x || y : x && y;
  });
}

/// The dtype in which `kind` is computed, if the operands promote to `dtype`.
DType working_dtype(BinaryOp kind, DType dtype) {
  return kind == BinaryOp::kDiv ? floating(dtype) : dtype;
}

/// The gradients of `kind`. If the operands of maximum or minimum are equal, each gets half.
void backward(BinaryOp kind, const Tensor& a, const Tensor& b, const Tensor& dy, Gradients& dx) {
  switch (kind) {
    case BinaryOp::kAdd:
      dx.add(0, dy);
      dx.add(1, dy);
      return;
    case BinaryOp::kSub:
      dx.add(0, dy);
      if (dx.needs_gradient(1)) dx.add(1, -dy);
      return;
    case BinaryOp::kMul:
      if (dx.needs_gradient(0)) dx.add(0, dy * b);
      if (dx.needs_gradient(1)) dx.add(1, dy * a);
      return;
    case BinaryOp::kDiv:
      if (dx.needs_gradient(0)) dx.add(0, dy / b);
      if (dx.needs_gradient(1)) dx.add(1, -(dy * (a / b) / b));
      return;
    case BinaryOp::kPow:
      return;  // pow has its own backward, below
    case BinaryOp::kMaximum:
    case BinaryOp::kMinimum:
      break;
  }
  // With NaN neither operand is chosen, and both get the gradient.
  const bool largest = kind == BinaryOp::kMaximum;
  const Tensor shared = where(eq(a, b), dy * 0.5, dy);
  if (dx.needs_gradient(0)) dx.add(0, where(largest ? lt(a, b) : gt(a, b), 0, shared));
  if (dx.needs_gradient(1)) dx.add(1, where(largest ? lt(b, a) : gt(b, a), 0, shared));
}

/// `kind` of the promoted operands.
Tensor promoted(const char* op, BinaryOp kind, const Operand& a, const Operand& b) {
  const DType dtype = working_dtype(kind, promote(op, a, b));
  Recording recording(op, {a.tensor(), b.tensor()});
  const Tensor left = a.to(dtype);
  const Tensor right = b.to(dtype);
  return recording.finish(binary(op, kind, left, right), [&] {
    const bool linear = kind == BinaryOp::kAdd || kind == BinaryOp::kSub;
    const bool bilinear = kind == BinaryOp::kMul;
    const bool reads_a = bilinear || kind == BinaryOp::kDiv ? recording.needs_gradient(1) : !linear;
    const bool reads_b = bilinear ? recording.needs_gradient(0) : !linear;
    return [kind, a = reads_a ? recording.save(left) : Saved(),
            b = reads_b ? recording.save(right) : Saved()](const Tensor& dy, Gradients& dx) {
      backward(kind, a, b, dy, dx);
    };
  });
}

}  // namespace

Tensor add(const Operand& a, const Operand& b) {
  return promoted("add", BinaryOp::kAdd, a, b);
}

Tensor sub(const Operand& a, const Operand& b) {
  return promoted("sub", BinaryOp::kSub, a, b);
}

Tensor mul(const Operand& a, const Operand& b) {
  return promoted("mul", BinaryOp::kMul, a, b);
}

Tensor div(const Operand& a, const Operand& b) {
  return promoted("div", BinaryOp::kDiv, a, b);
}

Tensor maximum(const Operand& a, const Operand& b) {
  return promoted("maximum", BinaryOp::kMaximum, a, b);
}

Tensor minimum(const Operand& a, const Operand& b) {
  return promoted("minimum", BinaryOp::kMinimum, a, b);
}

Tensor neg(const Tensor& x) {
  detail::require_defined("neg", x);
  require(x.dtype() != kBool, "neg", "x must not be bool; use logical_not() instead");
  if (x.dtype() == kInt64) return sub(0, x);
  Recording op("neg", {&x});
  const Tensor y = visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table<T>().unary;
    return map_rows<T, T>(x.shape(), {x}, 1, [&](T* out, index_t n, Row<T> in) {
      kernel(kernels::UnaryOp::kNeg, n, in.first, in.step, out);
    });
  });
  return op.finish(y, [] { return [](const Tensor& dy, Gradients& dx) { dx.add(0, -dy); }; });
}

namespace {

/// x to the power of a scalar.
Tensor power_of_number(const Tensor& x, Scalar exponent) {
  const double e = exponent.value();
  if (!is_floating(x.dtype()) && exponent.is_integral()) {
    require(e >= 0, "pow", "exponent must be at least 0 for an integer tensor, got ", e,
            "; convert the tensor to a floating dtype");
    return map_elements<index_t, index_t>(x.shape(), {x.to(kInt64)}, 8, [&](index_t base) {
      return integer_power(base, exponent.integer());
    });
  }
  const Tensor base = x.to(floating(x.dtype()));
  if (e == 2) return square(base);
  if (e == 0.5) return sqrt(base);
  if (e == -1) return reciprocal(base);
  Recording op("pow", {&base});
  const Tensor y = visit_floating(base.dtype(), [&](auto t) {
    using T = decltype(t);
    return map_elements<T, T>(base.shape(), {base}, 32, [&](T value) {
      return static_cast<T>(std::pow(static_cast<double>(value), e));
    });
  });
  return op.finish(y, [&] {
    return [base = op.save(base), e](const Tensor& dy, Gradients& dx) {
      dx.add(0, e == 0 ? dy * 0 : dy * (e * pow(base, e - 1)));  // x^0 has the slope 0, also at 0
    };
  });
}

Tensor power(const Operand& base, const Operand& exponent, DType dtype) {
  Recording op("pow", {base.tensor(), exponent.tensor()});
  if (dtype == kBool) dtype = kInt64;
  const Tensor a = base.to(dtype);
  const Tensor b = exponent.to(dtype);
  require(
      is_floating(dtype) || !any(b < 0).item<bool>(), "pow",
      "exponents must be at least 0 for integer tensors; convert the tensors to a floating dtype");
  const Tensor y = binary("pow", BinaryOp::kPow, a, b);
  return op.finish(y, [&] {
    return [a = op.save(a), b = op.save(b), y = op.needs_gradient(1) ? op.save(y) : Saved()](
               const Tensor& dy, Gradients& dx) {
      const Tensor x = a;
      const Tensor e = b;
      if (dx.needs_gradient(0)) dx.add(0, where(eq(e, 0), 0, dy * (e * pow(x, e - 1))));
      if (dx.needs_gradient(1)) {
        const Tensor is_flat = logical_and(eq(x, 0), e >= 0);
        dx.add(1, where(is_flat, 0, dy * (y * log(x))));
      }
    };
  });
}

}  // namespace

Tensor pow(const Operand& base, const Operand& exponent) {
  const DType dtype = promote("pow", base, exponent);
  const bool is_of_number = base.tensor() != nullptr && exponent.tensor() == nullptr;
  return is_of_number ? power_of_number(*base.tensor(), exponent.number())
                      : power(base, exponent, dtype);
}

namespace {

/// The quotient rounded down if `gives_quotient`; otherwise the remainder, of the divisor's sign.
template <class T>
T divided_down(bool gives_quotient, T x, T divisor) {
  constexpr bool kFloats = std::is_floating_point_v<T>;
  T rest = 0;
  if constexpr (kFloats) {
    rest = std::fmod(x, divisor);
  } else if (divisor != -1) {  // the smallest integer / -1 overflows
    rest = x % divisor;
  }
  const bool is_off = rest != 0 && (rest < 0) != (divisor < 0);
  if (!gives_quotient) return is_off ? rest + divisor : rest;
  if constexpr (kFloats) {
    if (divisor == 0) return x / divisor;
    const T quotient = (x - rest) / divisor - (is_off ? 1 : 0);  // whole, except for rounding
    if (quotient == 0) return std::copysign(quotient, x / divisor);
    const T floored = std::floor(quotient);
    return quotient - floored > T{0.5} ? floored + 1 : floored;
  } else {
    return divisor == -1 ? apply(BinaryOp::kSub, 0, x) : x / divisor - (is_off ? 1 : 0);
  }
}

/// divided_down of two tensors of one dtype.
Tensor divide_down(const char* op, bool gives_quotient, const Tensor& x, const Tensor& divisor) {
  require(x.dtype() != kBool, op,
          "operands must not both be bool, got bool; convert one with to(kInt64)");
  require(is_floating(x.dtype()) || !any(eq(divisor, 0)).item<bool>(), op,
          "divisors must not be 0 for integers, got 0; convert x to a floating dtype");
  const Shape shape = broadcast_shapes(op, x.shape(), divisor.shape());
  const auto map = [&](auto t) {
    using T = decltype(t);
    return map_elements<T, T, T>(shape, {x, divisor}, 16, [gives_quotient](T a, T b) {
      return divided_down(gives_quotient, a, b);
    });
  };
  return x.dtype() == kInt64 ? map(index_t{}) : visit_floating(x.dtype(), map);
}

}  // namespace

Tensor floor_divide(const Operand& x, const Operand& divisor) {
  const DType dtype = promote("floor_divide", x, divisor);
  Recording op("floor_divide", {x.tensor(), divisor.tensor()});
  const Tensor y = divide_down("floor_divide", true, x.to(dtype), divisor.to(dtype));
  return op.finish(y, [] {
    return [](const Tensor& dy, Gradients& dx) {
      for (const std::size_t i : {0U, 1U}) dx.add(i, zeros_like(dy));
    };
  });
}

Tensor remainder(const Operand& x, const Operand& divisor) {
  const DType dtype = promote("remainder", x, divisor);
  Recording op("remainder", {x.tensor(), divisor.tensor()});
  const Tensor a = x.to(dtype), b = divisor.to(dtype);
  return op.finish(divide_down("remainder", false, a, b), [&] {
    return [a = op.save(a), b = op.save(b)](const Tensor& dy, Gradients& dx) {
      dx.add(0, dy);
      if (dx.needs_gradient(1)) dx.add(1, -(dy * floor_divide(a, b)));
    };
  });
}

Tensor& detail::update(const char* op, Tensor& x, const Operand& y,
                       Tensor (*f)(const Operand& a, const Operand& b)) {
  const char sign = op[std::string_view("operator").size()];
  require(
      !any_needs_gradient({&x, y.tensor()}), op,
      "x and y must not require a gradient while a tape records, because a tape does not record "
      "writes; write x = x ",
      sign, " y");
  const Tensor result = f(x.detach(), y);
  const bool fits = is_floating(x.dtype()) || result.dtype() <= x.dtype();
  require(fits && result.shape() == x.shape(), op,
          "result must have the shape of x and a dtype that x can hold, ", x.dtype(), ' ',
          x.shape(), ", got ", result.dtype(), ' ', result.shape(), "; write x = x ", sign, " y");
  return x.copy_from(result);
}

}  // namespace tessera
