// Functions of one element and two parameters, p and q, with their gradients (ParametricOp).
#pragma once

#include "tensor/kernels/elementwise.h"

namespace tessera::kernels::TESSERA_ISA {

template <class T>
void parametric(ParametricOp op, T p, T q, index_t n, const T* x, index_t stride, T* y) noexcept {
  using V = Vec<T>;
  RowBlocks<T> in(n, x, stride);
  const auto map = [&](const auto& f) { map_each(n, y, f, in); };
  switch (op) {
    case ParametricOp::kLeakyRelu:
      return map([p](V v) { return v > T{0} ? v : v * p; });
    case ParametricOp::kSoftplus:
      return map([p, q](V v) {
        const V t = rounded(v * p);
        return t > q ? v : softplus(t) / p;
      });
    case ParametricOp::kClamp:
      return map([p, q](V v) {
        const V above = v < p ? broadcast(p) : v;
        return above > q ? broadcast(q) : above;
      });
  }
}

template <class T>
void parametric_gradient(ParametricOp op, T p, T q, index_t n, const T* x, index_t stride,
                         const T* dy, index_t dy_stride, T* dx) noexcept {
  using V = Vec<T>;
  RowBlocks<T> values(n, x, stride);
  RowBlocks<T> gradients(n, dy, dy_stride);
  const auto map = [&](const auto& f) { map_each(n, dx, f, values, gradients); };
  switch (op) {
    case ParametricOp::kLeakyRelu:
      return map([p](V v, V d) { return v > T{0} ? d : d * p; });
    case ParametricOp::kSoftplus:
      return map([p, q](V v, V d) {
        const V t = rounded(v * p);
        return t > q ? d : d * sigmoid(t);
      });
    case ParametricOp::kClamp:
      return map([p, q](V v, V d) { return ((v >= p) & (v <= q)) ? d : V{}; });
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
