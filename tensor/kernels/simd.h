// The vector type and the functions on it, written once for every instruction set.
//
// Vec<T> is the compiler's own vector (GCC's and Clang's vector_size), of the width of the
// instruction set that this file is compiled for: + - * / and comparisons work on it, and
// `mask ? a : b` selects. `acc += a * b` becomes one fused multiply-add where the machine has one.
//
// Compiled once per file in isa/, each time inside that instruction set's own namespace.
#pragma once

#include "tensor/kernels/types.h"

#if !defined(TESSERA_ISA)
#error "included only by the files in tensor/kernels/isa, which name their instruction set"
#endif

namespace tessera::kernels::TESSERA_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kVectorRegisters = 32;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kVectorRegisters = 16;
#else
inline constexpr int kVectorBytes = 16;
#if defined(__aarch64__)
inline constexpr int kVectorRegisters = 32;
#else
inline constexpr int kVectorRegisters = 16;
#endif
#endif

// The integer of the same size as T: what comparisons of Vec<T> give, lane by lane (0 or -1), and
// what a float's bits are read as.
template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::int32_t;
};
template <>
struct BitsOf<double> {
  using type = std::int64_t;
};
template <class T>
using Bits = typename BitsOf<T>::type;

template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
using BitsVec = Vec<Bits<T>>;

template <class T>
inline constexpr index_t kLanes = kVectorBytes / static_cast<int>(sizeof(T));

/// Vectors that make up the sixteen virtual lanes of a row reduction.
template <class T>
inline constexpr index_t kParts = kVirtualLanes / kLanes<T>;

template <class T>
inline constexpr T kInfinity = static_cast<T>(__builtin_inff());

template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // unlike x + 0, which turns -0 into 0, this is x itself: one instruction
}

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  __builtin_memcpy(&v, p, sizeof(v));
  return v;
}

template <class T>
inline void store(T* p, Vec<T> v) {
  __builtin_memcpy(p, &v, sizeof(v));
}

/// The first n lanes from p, n in [0, kLanes]; the rest are `fill`. Nothing behind them is touched.
template <class T>
inline Vec<T> load_partial(const T* p, index_t n, T fill = T{}) {
  Vec<T> v = broadcast(fill);
  for (index_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

/// The first n lanes to p; nothing behind them is touched.
template <class T>
inline void store_partial(T* p, Vec<T> v, index_t n) {
  for (index_t i = 0; i < n; ++i) p[i] = v[i];
}

/// The larger of each pair. Where either is NaN, b: write `max(x, m)` to keep the running m.
template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}

template <class V>
inline V min(V a, V b) {
  return a < b ? a : b;
}

template <class To, class From>
inline To bit_cast(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &v, sizeof(v));
  return result;
}

template <class T>
inline Vec<T> abs(Vec<T> v) {
  constexpr Bits<T> kAllButSign = static_cast<Bits<T>>(~(Bits<T>{1} << (8 * sizeof(T) - 1)));
  return bit_cast<Vec<T>>(bit_cast<BitsVec<T>>(v) & kAllButSign);
}

inline Vec<float> sqrt(Vec<float> v) {
  for (index_t i = 0; i < kLanes<float>; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
}

inline Vec<double> sqrt(Vec<double> v) {
  for (index_t i = 0; i < kLanes<double>; ++i) v[i] = __builtin_sqrt(v[i]);
  return v;
}

}  // namespace tessera::kernels::TESSERA_ISA
