#include "tessera/tensor/ops/unary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

namespace {

using detail::map_elements;
using detail::map_rows;
using detail::Row;
using kernels::ParametricOp;
using kernels::UnaryOp;

// Elementary operations per element, for the decision to use threads.
constexpr index_t kCheap = 1;
constexpr index_t kCostly = 8;

Tensor unary(const char* op, UnaryOp kind, index_t cost, const Tensor& x) {
  detail::require_defined(op, x);
  Recording recording(op, {&x});
  const Tensor y = visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table<T>().unary;
    const Tensor input = x.to(dtype_of<T>);
    return map_rows<T, T>(x.shape(), {input}, cost, [&](T* out, index_t n, Row<T> in) {
      kernel(kind, n, in.first, in.step, out);
    });
  });
  return recording.finish(y, [&] {
    return [kind, s = recording.save(kernels::gradient_reads_x(kind) ? x : y)](
               const Tensor& dy, Gradients& dx) { dx.add(0, detail::unary_gradient(kind, s, dy)); };
  });
}

/// `kind` for floating tensors, `f` on int64 for the others.
template <class F>
Tensor unary_or_integer(const char* op, UnaryOp kind, const Tensor& x, const F& f) {
  detail::require_defined(op, x);
  if (is_floating(x.dtype())) return unary(op, kind, kCheap, x);
  return map_elements<index_t, index_t>(x.shape(), {x.to(kInt64)}, kCheap, f);
}

index_t identity(index_t v) {
  return v;
}

/// `kind` with its two parameters, for floating tensors; others are converted.
Tensor parametric(const char* op, ParametricOp kind, double p, double q, index_t cost,
                  const Tensor& x) {
  const Tensor input = x.to(floating(x.dtype()));
  Recording recording(op, {&input});
  const Tensor y = visit_floating(input.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table<T>().parametric;
    return map_rows<T, T>(input.shape(), {input}, cost, [&](T* out, index_t n, Row<T> in) {
      kernel(kind, static_cast<T>(p), static_cast<T>(q), n, in.first, in.step, out);
    });
  });
  return recording.finish(y, [&] {
    return [=, saved = recording.save(input)](const Tensor& dy, Gradients& dx) {
      const Tensor s = saved;
      dx.add(0, visit_floating(s.dtype(), [&](auto t) {
               using T = decltype(t);
               const auto kernel = kernels::table<T>().parametric_gradient;
               return map_rows<T, T, T>(s.shape(), {s, dy}, cost,
                                        [&](T* out, index_t n, Row<T> in, Row<T> d) {
                                          kernel(kind, static_cast<T>(p), static_cast<T>(q), n,
                                                 in.first, in.step, d.first, d.step, out);
                                        });
             }));
    };
  });
}

/// Modulo 2^64; in signed arithmetic an overflow would be undefined.
index_t wrapping_product(index_t a, index_t b) {
  return static_cast<index_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

Tensor detail::unary_gradient(UnaryOp op, const Tensor& s, const Tensor& dy) {
  return visit_floating(dy.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table<T>().unary_gradient;
    const Tensor from = s.to(dtype_of<T>);
    return map_rows<T, T, T>(s.shape(), {from, dy}, kCostly,
                             [&](T* out, index_t n, Row<T> in, Row<T> d) {
                               kernel(op, n, in.first, in.step, d.first, d.step, out);
                             });
  });
}

Tensor exp(const Tensor& x) {
  return unary("exp", UnaryOp::kExp, kCostly, x);
}

Tensor expm1(const Tensor& x) {
  return unary("expm1", UnaryOp::kExpm1, kCostly, x);
}

Tensor log(const Tensor& x) {
  return unary("log", UnaryOp::kLog, kCostly, x);
}

Tensor log1p(const Tensor& x) {
  return unary("log1p", UnaryOp::kLog1p, kCostly, x);
}

Tensor sqrt(const Tensor& x) {
  return unary("sqrt", UnaryOp::kSqrt, kCheap, x);
}

Tensor rsqrt(const Tensor& x) {
  return unary("rsqrt", UnaryOp::kRsqrt, kCheap, x);
}

Tensor sin(const Tensor& x) {
  return unary("sin", UnaryOp::kSin, kCostly, x);
}

Tensor cos(const Tensor& x) {
  return unary("cos", UnaryOp::kCos, kCostly, x);
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

Tensor floor(const Tensor& x) {
  return unary_or_integer("floor", UnaryOp::kFloor, x, identity);
}

Tensor ceil(const Tensor& x) {
  return unary_or_integer("ceil", UnaryOp::kCeil, x, identity);
}

Tensor round(const Tensor& x) {
  return unary_or_integer("round", UnaryOp::kRound, x, identity);
}

Tensor sigmoid(const Tensor& x) {
  return unary("sigmoid", UnaryOp::kSigmoid, kCostly, x);
}

Tensor relu(const Tensor& x) {
  return unary_or_integer("relu", UnaryOp::kRelu, x, [](index_t v) { return v < 0 ? 0 : v; });
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
  detail::require_defined("leaky_relu", x);
  require(!std::isnan(negative_slope), "leaky_relu", "negative_slope must be a number, got NaN");
  return parametric("leaky_relu", ParametricOp::kLeakyRelu, negative_slope, 0, kCheap, x);
}

Tensor silu(const Tensor& x) {
  return unary("silu", UnaryOp::kSilu, kCostly, x);
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  detail::require_defined("softplus", x);
  require(beta > 0 && std::isfinite(beta), "softplus", "beta must be positive and finite, got ",
          beta);
  require(!std::isnan(threshold), "softplus", "threshold must be a number, got NaN");
  return parametric("softplus", ParametricOp::kSoftplus, beta, threshold, 2 * kCostly, x);
}

Tensor clamp(const Tensor& x, std::optional<Scalar> least, std::optional<Scalar> most) {
  detail::require_defined("clamp", x);
  require(least.has_value() || most.has_value(), "clamp", "number of bounds must be 1 or 2, got 0");
  bool is_integral = !is_floating(x.dtype());
  for (const std::optional<Scalar>& bound : {least, most}) {
    if (!bound) continue;
    require(!std::isnan(bound->value()), "clamp", "bounds must be numbers, got NaN");
    is_integral = is_integral && bound->is_integral();
  }
  if (is_integral) {
    using Limits = std::numeric_limits<index_t>;
    const index_t p = least ? least->integer() : Limits::min();
    const index_t q = most ? most->integer() : Limits::max();
    return map_elements<index_t, index_t>(x.shape(), {x.to(kInt64)}, kCheap,
                                          [&](index_t v) { return std::min(std::max(v, p), q); });
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return parametric("clamp", ParametricOp::kClamp, least ? least->value() : -kInfinity,
                    most ? most->value() : kInfinity, kCheap, x);
}

Tensor gelu(const Tensor& x) {
  return unary("gelu", UnaryOp::kGelu, kCostly, x);
}

Tensor gelu_tanh(const Tensor& x) {
  return unary("gelu_tanh", UnaryOp::kGeluTanh, kCostly, x);
}

}  // namespace tessera
