#include "tensor/ops/unary.h"

#include <cstdint>

#include "tensor/autograd/recording.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/ops/arithmetic.h"
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

Tensor unary(const char* op, UnaryOp kind, index_t cost, const Tensor& x) {
  detail::require_defined(op, x);
  Recording scope(op, {&x});
  const Tensor y = visit_floating(x.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table().of<T>().unary;
    const Tensor input = x.to(dtype_of<T>);
    return map_rows<T, T>(x.shape(), {input}, cost, [&](T* out, index_t n, Row<T> in) {
      kernel(kind, n, in.first, in.step, out);
    });
  });
  return scope.finish(y, [&] {
    return [kind, s = scope.save(kernels::gradient_reads_x(kind) ? x : y)](
               const Tensor& dy, Gradients& dx) { dx.add(0, detail::unary_gradient(kind, s, dy)); };
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

Tensor detail::unary_gradient(UnaryOp op, const Tensor& s, const Tensor& dy) {
  return visit_floating(dy.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto kernel = kernels::table().of<T>().unary_gradient;
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

Tensor gelu(const Tensor& x) {
  return unary("gelu", UnaryOp::kGelu, kCostly, x);
}

Tensor gelu_tanh(const Tensor& x) {
  return unary("gelu_tanh", UnaryOp::kGeluTanh, kCostly, x);
}

}  // namespace tessera
