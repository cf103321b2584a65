// Functions of several vectors in lockstep: each operation runs on all vectors, then the next one.
//
// The operations of a function are a dependency chain, and a processor looks only a limited number
// of instructions ahead for independent ones: one vector after the other would leave its units half
// idle.
#pragma once

#include "tessera/tensor/kernels/simd.h"

namespace tessera::kernels::TESSERA_ISA {

/// The number of vectors in lockstep: fewer do not hide the latency, six spill the registers of
/// AVX2.
inline constexpr int kInLockstep = 4;

/// kCount vectors that are computed in lockstep.
template <class T, int kCount>
struct Vectors {
  Vec<T> at[kCount];
};

/// f of each vector of x, with the vectors at the same index of `more`. f runs to its end for one
/// vector before the next, so divide a long function into several calls of each().
template <class F, class T, int kCount, class... More>
[[gnu::always_inline]] inline Vectors<T, kCount> each(const F& f, const Vectors<T, kCount>& x,
                                                      const More&... more) {
  Vectors<T, kCount> y;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) y.at[i] = f(x.at[i], more.at[i]...);
  return y;
}

/// Loads the kCount vectors from p on.
template <int kCount, class T>
[[gnu::always_inline]] inline Vectors<T, kCount> load_vectors(const T* p) {
  Vectors<T, kCount> x;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) x.at[i] = load(p + i * kLanes<T>);
  return x;
}

template <class T, int kCount>
[[gnu::always_inline]] inline void store_vectors(T* p, const Vectors<T, kCount>& x) {
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) store(p + i * kLanes<T>, x.at[i]);
}

/// c[0] x^(N-1) + ... + c[N-1].
template <class T, int kCount, int N>
[[gnu::always_inline]] inline Vectors<T, kCount> horner(const Vectors<T, kCount>& x,
                                                        const T (&c)[N]) {
  Vectors<T, kCount> sum;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) sum.at[i] = broadcast(c[0]);
#pragma GCC unroll 32
  for (int term = 1; term < N; ++term) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sum.at[i] = sum.at[i] * x.at[i] + c[term];
  }
  return sum;
}

}  // namespace tessera::kernels::TESSERA_ISA
