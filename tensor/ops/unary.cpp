#include "tensor/ops/unary.h"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "tensor/autograd/recording.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/map.h"

namespace tessera {

namespace {

using detail::map_elements;
using detail::map_rows;
using detail::Row;
using kernels::UnaryOp;

// Elementary operations per element, for the decision to use threads.
constexpr index_t kCheap = 1;
constexpr index_t kCostly = 8;

Tensor gelu_derivative(const Tensor& x) {
  const Tensor cdf = 0.5 * (1 + erf(x * std::sqrt(0.5)));
  const Tensor density = exp(square(x) * -0.5) * (0.5 * std::numbers::inv_sqrtpi * std::sqrt(2.0));
  return cdf + x * density;
}

Tensor gelu_tanh_derivative(const Tensor& x) {
  constexpr double kCubic = 0.044715;
  const double slope = std::sqrt(2 * std::numbers::inv_pi);
  const Tensor x2 = square(x);
  const Tensor t = tanh(slope * (x + kCubic * (x2 * x)));
  return 0.5 * (1 + t) + 0.5 * x * (1 - square(t)) * (slope * (1 + 3 * kCubic * x2));
}

/// Whether the derivative is computed from x; it is from y elsewhere.
bool reads_x(UnaryOp kind) {
  switch (kind) {
    case UnaryOp::kAbs:
    case UnaryOp::kSquare:
    case UnaryOp::kLog:
    case UnaryOp::kErf:
    case UnaryOp::kGelu:
    case UnaryOp::kGeluTanh:
      return true;
    default:
      return false;
  }
}

/// dy times the derivative of `kind`, where `s` is x or y: see reads_x.
Tensor backward(UnaryOp kind, const Tensor& s, const Tensor& dy) {
  switch (kind) {
    case UnaryOp::kNeg:
      return -dy;
    case UnaryOp::kAbs:
      return dy * sign(s);
    case UnaryOp::kSign:
      return dy * 0;
    case UnaryOp::kSquare:
      return dy * (2 * s);
    case UnaryOp::kSqrt:
      return dy / (2 * s);
    case UnaryOp::kReciprocal:
      return -(dy * square(s));
    case UnaryOp::kExp:
      return dy * s;
    case UnaryOp::kLog:
      return dy / s;
    case UnaryOp::kTanh:
      return dy * (1 - square(s));
    case UnaryOp::kSigmoid:
      return dy * (s * (1 - s));
    case UnaryOp::kErf:
      return dy * (exp(-square(s)) * (2 * std::numbers::inv_sqrtpi));
    case UnaryOp::kRelu:
      return where(le(s, 0), 0, dy);  // passes a NaN on
    case UnaryOp::kGelu:
      return dy * gelu_derivative(s);
    case UnaryOp::kGeluTanh:
      break;
  }
  return dy * gelu_tanh_derivative(s);
}

Tensor unary(const char* op, UnaryOp kind, index_t cost, const Tensor& x) {
  detail::require_defined(op, x);
  Recording scope(op, {&x});
  const Tensor y = detail::visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table().of<T>().unary;
    const Tensor input = x.to(dtype_of<T>);
    return map_rows<T, T>(x.shape(), {input}, cost, [&](T* out, index_t n, Row<T> in) {
      kernel(kind, n, in.first, in.step, out);
    });
  });
  return scope.finish(y, [&] {
    return [kind, s = reads_x(kind) ? x : y](const Tensor& dy, Gradients& dx) {
      dx.add(0, backward(kind, s, dy));
    };
  });
}

/// `kind` for floating tensors, `f` of int64 for the others.
template <class F>
Tensor unary_or_integer(const char* op, UnaryOp kind, const Tensor& x, const F& f) {
  detail::require_defined(op, x);
  if (is_floating(x.dtype())) return unary(op, kind, kCheap, x);
  return map_elements<index_t, index_t>(x.shape(), {x.to(kInt64)}, kCheap, f);
}

/// Modulo 2^64, where signed arithmetic would be undefined.
index_t wrapping_product(index_t a, index_t b) {
  return static_cast<index_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

Tensor exp(const Tensor& x) {
  return unary("exp", UnaryOp::kExp, kCostly, x);
}

Tensor log(const Tensor& x) {
  return unary("log", UnaryOp::kLog, kCostly, x);
}

Tensor sqrt(const Tensor& x) {
  return unary("sqrt", UnaryOp::kSqrt, kCheap, x);
}

Tensor tanh(const Tensor& x) {
  return unary("tanh", UnaryOp::kTanh, kCostly, x);
}

Tensor erf(const Tensor& x) {
  return unary("erf", UnaryOp::kErf, kCostly, x);
}

Tensor abs(const Tensor& x) {
  return unary_or_integer("abs", UnaryOp::kAbs, x,
                          [](index_t v) { return v < 0 ? wrapping_product(v, -1) : v; });
}

Tensor square(const Tensor& x) {
  return unary_or_integer("square", UnaryOp::kSquare, x,
                          [](index_t v) { return wrapping_product(v, v); });
}

Tensor reciprocal(const Tensor& x) {
  return unary("reciprocal", UnaryOp::kReciprocal, kCheap, x);
}

Tensor sign(const Tensor& x) {
  return unary_or_integer("sign", UnaryOp::kSign, x,
                          [](index_t v) { return index_t{v > 0} - index_t{v < 0}; });
}

Tensor sigmoid(const Tensor& x) {
  return unary("sigmoid", UnaryOp::kSigmoid, kCostly, x);
}

Tensor relu(const Tensor& x) {
  return unary_or_integer("relu", UnaryOp::kRelu, x, [](index_t v) { return v < 0 ? 0 : v; });
}

Tensor gelu(const Tensor& x, Gelu kind) {
  return unary("gelu", kind == Gelu::kErf ? UnaryOp::kGelu : UnaryOp::kGeluTanh, kCostly, x);
}

}  // namespace tessera
