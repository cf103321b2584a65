// Operations on each element of a row, and their gradients.
//
// A row may have any stride. Elements that are not contiguous are first gathered into a small
// buffer, block by block, and the same vector code runs on the buffer and on the tail of a row. So
// the bits of an element depend neither on the layout nor on its position in the row.
#pragma once

#include "tessera/tensor/kernels/gelu.h"
#include "tessera/tensor/kernels/power.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/kernels/trigonometry.h"

namespace tessera::kernels::TESSERA_ISA {

/// An operand of any stride as contiguous blocks of at most kBlock elements.
template <class T>
class RowBlocks {
 public:
  static constexpr index_t kBlock = 512;

  RowBlocks(index_t n, const T* x, index_t stride) : x_(x), stride_(stride) {
    if (stride != 0) return;
    for (index_t i = 0; i < kBlock && i < n; ++i) buffer_[i] = *x;
  }

  /// Elements [begin, begin + count); valid until the next call.
  const T* block(index_t begin, index_t count) {
    if (stride_ == 1) return x_ + begin;
    if (stride_ == 0) return buffer_;
    const T* x = x_ + begin * stride_;
    for (index_t i = 0; i < count; ++i) buffer_[i] = x[i * stride_];
    return buffer_;
  }

 private:
  const T* x_;
  index_t stride_;
  T buffer_[kBlock];
};

/// Calls `body(begin, count)` for each block of a row of n.
template <class T, class Body>
inline void for_each_block(index_t n, const Body& body) {
  constexpr index_t kBlock = RowBlocks<T>::kBlock;
  for (index_t begin = 0; begin < n; begin += kBlock) {
    body(begin, n - begin < kBlock ? n - begin : kBlock);
  }
}

/// out = f(in...) for `count` adjacent elements. f takes kCount Vectors while that many are left,
/// then one; the bits of an element must not depend on which.
template <int kCount, class T, class F, class... In>
inline void map_block(index_t count, T* out, const F& f, const In*... in) {
  const auto one = [&](const auto&... v) { return f(Vectors<T, 1>{{v}}...).at[0]; };
  index_t i = 0;
  for (; i + kCount * kLanes<T> <= count; i += kCount * kLanes<T>) {
    store_vectors(out + i, f(load_vectors<kCount>(in + i)...));
  }
  for (; i + kLanes<T> <= count; i += kLanes<T>) store(out + i, one(load(in + i)...));
  if (i < count) store_partial(out + i, one(load_partial(in + i, count - i)...), count - i);
}

/// y = f(x...), rows of n; f as in map_block.
template <int kCount, class T, class F, class... Rows>
inline void map_vectors(index_t n, T* y, const F& f, Rows&... x) {
  for_each_block<T>(n, [&](index_t begin, index_t count) {
    map_block<kCount>(count, y + begin, f, x.block(begin, count)...);
  });
}

/// The same for an f that takes one vector of each row.
template <class T, class F, class... Rows>
inline void map_each(index_t n, T* y, const F& f, Rows&... x) {
  map_vectors<1>(
      n, y, [&](const auto&... v) { return each(f, v...); }, x...);
}

template <class V, class T = Element<V>>
inline V sign(V v) {
  const Vec<T> not_positive = v < T{0} ? broadcast(T{-1}) : v;
  return v > T{0} ? broadcast(T{1}) : not_positive;
}

template <class T>
void unary(UnaryOp op, index_t n, const T* x, index_t stride, T* y) noexcept {
  using V = Vec<T>;
  RowBlocks<T> in(n, x, stride);
  const auto map = [&](const auto& f) { map_each(n, y, f, in); };
  switch (op) {
    case UnaryOp::kNeg:
      return map([](V v) { return -v; });
    case UnaryOp::kAbs:
      return map([](V v) { return abs(v); });
    case UnaryOp::kSign:
      return map([](V v) { return sign(v); });
    case UnaryOp::kSquare:
      return map([](V v) { return v * v; });
    case UnaryOp::kSqrt:
      return map([](V v) { return sqrt(v); });
    case UnaryOp::kRsqrt:
      return map([](V v) { return T{1} / sqrt(v); });
    case UnaryOp::kReciprocal:
      return map([](V v) { return T{1} / v; });
    case UnaryOp::kExp:
      return map([](V v) { return exp(v); });
    case UnaryOp::kExpm1:
      return map([](V v) { return expm1(v); });
    case UnaryOp::kLog:
      return map([](V v) { return log(v); });
    case UnaryOp::kLog1p:
      return map([](V v) { return log1p(v); });
    case UnaryOp::kSin:
      return map([](V v) { return sin(v); });
    case UnaryOp::kCos:
      return map([](V v) { return cos(v); });
    case UnaryOp::kTanh:
      return map([](V v) { return tanh(v); });
    case UnaryOp::kSigmoid:
      return map([](V v) { return sigmoid(v); });
    case UnaryOp::kErf:
      return map([](V v) { return erf(v); });
    case UnaryOp::kFloor:
      return map([](V v) { return floor(v); });
    case UnaryOp::kCeil:
      return map([](V v) { return -floor(-v); });
    case UnaryOp::kRound:
      return map([](V v) { return round(v); });
    case UnaryOp::kRelu:
      return map([](V v) { return relu(v); });
    case UnaryOp::kSilu:
      return map([](V v) { return silu(v); });
    case UnaryOp::kGelu:
      return map_vectors<kInLockstep>(
          n, y, [](const auto& v) { return gelu_erf(v); }, in);
    case UnaryOp::kGeluTanh:
      return map([](V v) { return gelu_tanh(v); });
  }
}

/// dx = dy f'(x), with f' computed from x or, if that is cheaper, from y = f(x).
template <class T>
void unary_gradient(UnaryOp op, index_t n, const T* x_or_y, index_t stride, const T* dy,
                    index_t dy_stride, T* dx) noexcept {
  using V = Vec<T>;
  constexpr T kTwoOverSqrtPi = static_cast<T>(1.1283791670955126);
  RowBlocks<T> values(n, x_or_y, stride);
  RowBlocks<T> gradients(n, dy, dy_stride);
  const auto map = [&](const auto& f) { map_each(n, dx, f, values, gradients); };
  switch (op) {
    case UnaryOp::kNeg:
      return map([](V, V d) { return -d; });
    case UnaryOp::kAbs:
      return map([](V x, V d) { return d * sign(x); });
    case UnaryOp::kSign:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
      return map([](V, V) { return V{}; });
    case UnaryOp::kSquare:
      return map([](V x, V d) { return d * (x + x); });
    case UnaryOp::kSqrt:
      return map([](V y, V d) { return d / (y + y); });
    case UnaryOp::kRsqrt:
      return map([](V y, V d) { return d * (y * y * y * T{-0.5}); });
    case UnaryOp::kReciprocal:
      return map([](V y, V d) { return -(d * (y * y)); });
    case UnaryOp::kExp:
      return map([](V y, V d) { return d * y; });
    case UnaryOp::kExpm1:
      return map([](V y, V d) { return d * (y + T{1}); });
    case UnaryOp::kLog:
      return map([](V x, V d) { return d / x; });
    case UnaryOp::kLog1p:
      return map([](V x, V d) { return d / (x + T{1}); });
    case UnaryOp::kSin:
      return map([](V x, V d) { return d * cos(x); });
    case UnaryOp::kCos:
      return map([](V x, V d) { return d * -sin(x); });
    case UnaryOp::kTanh:
      return map([](V y, V d) { return d * (T{1} - y * y); });
    case UnaryOp::kSigmoid:
      return map([](V y, V d) { return d * (y * (T{1} - y)); });
    case UnaryOp::kErf:
      return map([](V x, V d) { return d * (exp_of_negative(rounded(x * -x)) * kTwoOverSqrtPi); });
    case UnaryOp::kRelu:  // propagates NaN
      return map([](V y, V d) { return y <= T{0} ? V{} : d; });
    case UnaryOp::kSilu:
      return map([](V x, V d) { return d * silu_slope(x); });
    case UnaryOp::kGelu:
      return map_vectors<kInLockstep>(
          n, dx,
          [](const auto& x, const auto& d) {
            return each([](V slope, V v) { return v * slope; }, gelu_erf_slope(x), d);
          },
          values, gradients);
    case UnaryOp::kGeluTanh:
      return map([](V x, V d) { return d * gelu_tanh_slope(x); });
  }
}

/// Functions of one element and two parameters, p and q.
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

template <class T>
void binary(BinaryOp op, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
            T* y) noexcept {
  using V = Vec<T>;
  RowBlocks<T> left(n, a, a_stride);
  RowBlocks<T> right(n, b, b_stride);
  const auto map = [&](const auto& f) { map_each(n, y, f, left, right); };
  switch (op) {
    case BinaryOp::kAdd:
      return map([](V p, V q) { return p + q; });
    case BinaryOp::kSub:
      return map([](V p, V q) { return p - q; });
    case BinaryOp::kMul:
      return map([](V p, V q) { return p * q; });
    case BinaryOp::kDiv:
      return map([](V p, V q) { return p / q; });
    case BinaryOp::kPow:
      return map([](V p, V q) { return pow(p, q); });
    case BinaryOp::kMaximum:
      return map([](V p, V q) { return maximum(p, q); });
    case BinaryOp::kMinimum:
      return map([](V p, V q) { return minimum(p, q); });
  }
}

// The next two functions round nothing, so plain loops are enough, which the compiler vectorizes.

template <class T>
void compare(CompareOp op, index_t n, const T* a, index_t a_stride, const T* b, index_t b_stride,
             bool* y) noexcept {
  RowBlocks<T> a_blocks(n, a, a_stride);
  RowBlocks<T> b_blocks(n, b, b_stride);
  const auto map = [&](const auto& f) {
    for_each_block<T>(n, [&](index_t begin, index_t count) {
      const T* left = a_blocks.block(begin, count);
      const T* right = b_blocks.block(begin, count);
      bool* out = y + begin;
      for (index_t i = 0; i < count; ++i) out[i] = f(left[i], right[i]);
    });
  };
  switch (op) {
    case CompareOp::kEq:
      return map([](T p, T q) { return p == q; });
    case CompareOp::kNe:
      return map([](T p, T q) { return p != q; });
    case CompareOp::kLt:
      return map([](T p, T q) { return p < q; });
    case CompareOp::kLe:
      return map([](T p, T q) { return p <= q; });
    case CompareOp::kGt:
      return map([](T p, T q) { return p > q; });
    case CompareOp::kGe:
      return map([](T p, T q) { return p >= q; });
  }
}

/// The next kLanes of `p` as a mask. Compilers would write a branch for each element, and with a
/// random mask every second branch is mispredicted.
template <class T>
inline Mask<T> load_mask(const bool* p) {
  typedef unsigned char Bytes __attribute__((vector_size(kLanes<T>)));
  Bytes bytes;
  __builtin_memcpy(&bytes, p, sizeof(bytes));
  return __builtin_convertvector(bytes, BitsVec<T>) != BitsVec<T>{};
}

template <class T>
void where(index_t n, const bool* mask, index_t mask_stride, const T* a, index_t a_stride,
           const T* b, index_t b_stride, T* y) noexcept {
  RowBlocks<bool> mask_blocks(n, mask, mask_stride);
  RowBlocks<T> a_blocks(n, a, a_stride);
  RowBlocks<T> b_blocks(n, b, b_stride);
  for_each_block<T>(n, [&](index_t begin, index_t count) {
    const bool* chosen = mask_blocks.block(begin, count);
    const T* left = a_blocks.block(begin, count);
    const T* right = b_blocks.block(begin, count);
    T* out = y + begin;
    index_t i = 0;
    for (; i + kLanes<T> <= count; i += kLanes<T>) {
      store(out + i, load_mask<T>(chosen + i) ? load(left + i) : load(right + i));
    }
    for (; i < count; ++i) out[i] = chosen[i] ? left[i] : right[i];
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
