// The vector type and the functions on it, written once for every instruction set.
//
// Vec<T> is the compiler's vector type (`vector_size` of GCC and Clang), as wide as the registers
// of the instruction set that this file is compiled for. + - * / and comparisons work lane by lane,
// and `mask ? a : b` selects lanes. `acc += a * b` becomes one fused multiply-add if the processor
// has that instruction.
//
// Compiled once for each file in isa/, in the namespace of that instruction set.
#pragma once

#include "tessera/tensor/kernels/types.h"

#if defined(__SSE2__)
#include <immintrin.h>  // partial loads and stores, square roots, products of integers
#elif defined(__aarch64__)
#include <arm_neon.h>  // products of integers
#endif

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

// The integers as wide as T: unsigned for the bits of a number, so that sums may wrap around;
// signed for masks, the results of comparisons, with 0 or -1 in each lane.
template <class T>
struct IntegersOf;
template <>
struct IntegersOf<float> {
  using bits = std::uint32_t;
  using mask = std::int32_t;
};
template <>
struct IntegersOf<double> {
  using bits = std::uint64_t;
  using mask = std::int64_t;
};
template <class T>
using Bits = typename IntegersOf<T>::bits;

template <class T>
struct VecOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
using BitsVec = Vec<Bits<T>>;
template <class T>
using Mask = Vec<typename IntegersOf<T>::mask>;

/// The element type T of Vec<T>.
template <class V>
struct ElementOf;
template <>
struct ElementOf<Vec<float>> {
  using type = float;
};
template <>
struct ElementOf<Vec<double>> {
  using type = double;
};
template <class V>
using Element = typename ElementOf<V>::type;

template <class T>
inline constexpr index_t kLanes = kVectorBytes / static_cast<int>(sizeof(T));

/// The number of vectors that hold the sixteen virtual lanes of a row reduction.
template <class T>
inline constexpr index_t kParts = kVirtualLanes / kLanes<T>;

template <class T>
inline constexpr T kInfinity = static_cast<T>(__builtin_inff());
template <class T>
inline constexpr T kLargest = sizeof(T) == sizeof(float) ? static_cast<T>(__FLT_MAX__)
                                                         : static_cast<T>(__DBL_MAX__);

/// x in every lane.
template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // one instruction, because x - 0 is x; x + 0 would change -0 to 0
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

/// The purpose of a prefetch: to read the cache line from L1 or from L2, or to write it.
enum class Fetch { kForL1, kForL2, kForWriting };

/// Prefetches the cache line of p[offset], which may be outside the array. A function that
/// only prefetches must be always_inline: GCC assumes that it has no side effects and drops its
/// calls.
template <Fetch kFetch = Fetch::kForL1, class T>
[[gnu::always_inline]] inline void prefetch(const T* p, index_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  __builtin_prefetch(
      reinterpret_cast<const void*>(address + static_cast<std::uintptr_t>(offset) * sizeof(T)),
      kFetch == Fetch::kForWriting, kFetch == Fetch::kForL2 ? 2 : 3);
}

/// A mask that is true in the first n lanes.
template <class T>
inline Mask<T> first_lanes(index_t n) {
  using Integer = typename IntegersOf<T>::mask;
  Mask<T> lane = {};
  for (int i = 0; i < static_cast<int>(kLanes<T>); ++i) lane[i] = i;
  return lane < broadcast(static_cast<Integer>(n));
}

// load_partial(p, n, fill) loads the first n lanes from p, n in [0, kLanes]; the others are `fill`.
// store_partial(p, v, n) stores the first n lanes to p. Neither accesses memory after them.
#if defined(__AVX512F__)

inline Vec<float> load_partial(const float* p, index_t n, float fill = 0) {
  return _mm512_mask_loadu_ps(broadcast(fill), static_cast<__mmask16>((1U << n) - 1), p);
}

inline Vec<double> load_partial(const double* p, index_t n, double fill = 0) {
  return _mm512_mask_loadu_pd(broadcast(fill), static_cast<__mmask8>((1U << n) - 1), p);
}

inline void store_partial(float* p, Vec<float> v, index_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << n) - 1), v);
}

inline void store_partial(double* p, Vec<double> v, index_t n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1), v);
}

#elif defined(__AVX2__)

inline Vec<float> load_partial(const float* p, index_t n, float fill = 0) {
  const Mask<float> mask = first_lanes<float>(n);
  return mask ? _mm256_maskload_ps(p, reinterpret_cast<__m256i>(mask)) : broadcast(fill);
}

inline Vec<double> load_partial(const double* p, index_t n, double fill = 0) {
  const Mask<double> mask = first_lanes<double>(n);
  return mask ? _mm256_maskload_pd(p, reinterpret_cast<__m256i>(mask)) : broadcast(fill);
}

inline void store_partial(float* p, Vec<float> v, index_t n) {
  _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(first_lanes<float>(n)), v);
}

inline void store_partial(double* p, Vec<double> v, index_t n) {
  _mm256_maskstore_pd(p, reinterpret_cast<__m256i>(first_lanes<double>(n)), v);
}

#else

template <class T>
inline Vec<T> load_partial(const T* p, index_t n, T fill = T{}) {
  Vec<T> v = broadcast(fill);
  for (index_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

template <class T>
inline void store_partial(T* p, Vec<T> v, index_t n) {
  for (index_t i = 0; i < n; ++i) p[i] = v[i];
}

#endif

/// load or load_partial; if n is a constant, the compiler chooses.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_some(const T* p, index_t n, T fill = T{}) {
  return n == kLanes<T> ? load(p) : load_partial(p, n, fill);
}

template <class T>
[[gnu::always_inline]] inline void store_some(T* p, Vec<T> v, index_t n) {
  if (n == kLanes<T>) {
    store(p, v);
  } else {
    store_partial(p, v, n);
  }
}

/// A non-temporal store, which does not keep the line in the caches; p must be aligned to the
/// vector. After the last such store, `finish_streams` must be called.
template <class T>
inline void stream(T* p, Vec<T> v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#else
  store(p, v);
#endif
}

/// Whether to write a result of `count` elements by `stream`: it exceeds the caches of a core, and
/// p and its rows, `row` elements apart, are aligned to `alignment` bytes, at least a vector.
template <class T>
inline bool is_worth_streaming(const T* p, index_t row, index_t count, int alignment) {
  constexpr index_t kLarge = (index_t{8} << 20) / static_cast<index_t>(sizeof(T));
  const auto bytes = static_cast<std::uintptr_t>(alignment);
  return count >= kLarge && reinterpret_cast<std::uintptr_t>(p) % bytes == 0 &&
         static_cast<std::uintptr_t>(row) * sizeof(T) % bytes == 0;
}

inline void finish_streams() {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}

/// Whether any lane of a mask is true.
template <class T>
inline bool any_lane(Mask<T> mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(reinterpret_cast<__m512i>(mask), reinterpret_cast<__m512i>(mask)) !=
         0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(reinterpret_cast<__m256i>(mask), reinterpret_cast<__m256i>(mask)) == 0;
#else
  bool any = false;
  for (index_t i = 0; i < kLanes<T>; ++i) any = any || mask[i] != 0;
  return any;
#endif
}

/// The larger of a and b in each lane, and b if either is NaN: `max(x, m)` keeps a running maximum
/// m.
template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}

template <class V>
inline V min(V a, V b) {
  return a < b ? a : b;
}

/// The larger of a and b in each lane, and NaN if either is NaN.
template <class V>
inline V maximum(V a, V b) {
  const V larger = a > b ? a : b;
  return a != a ? a : larger;
}

template <class V>
inline V minimum(V a, V b) {
  const V smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

template <class To, class From>
inline To bit_cast(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &v, sizeof(v));
  return result;
}

template <class V, class T = Element<V>>
inline V abs(V v) {
  constexpr Bits<T> kAllButSign = static_cast<Bits<T>>(~(Bits<T>{1} << (8 * sizeof(T) - 1)));
  return bit_cast<Vec<T>>(bit_cast<BitsVec<T>>(v) & kAllButSign);
}

/// Converts floats to doubles: the lower half of the lanes to `first`, the upper half to `second`.
inline void widen(Vec<float> v, Vec<double>& first, Vec<double>& second) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  Half halves[2];
  __builtin_memcpy(halves, &v, sizeof(v));
  first = __builtin_convertvector(halves[0], Vec<double>);
  second = __builtin_convertvector(halves[1], Vec<double>);
}

/// The inverse of widen: rounds each double to a float.
inline Vec<float> narrow(Vec<double> first, Vec<double> second) {
  typedef float Half __attribute__((vector_size(kVectorBytes / 2)));
  const Half halves[2] = {__builtin_convertvector(first, Half),
                          __builtin_convertvector(second, Half)};
  Vec<float> v;
  __builtin_memcpy(&v, halves, sizeof(v));
  return v;
}

/// Returns v, and prevents the compiler from fusing a product in v with a later addition. So that
/// all compilers fuse the same products: an expression has at most one product that can be fused
/// (in a * b + c * d, compilers could choose different ones); a product that a function returns or
/// that is used twice is rounded(a * b); rounded(a * b + c) keeps the sum together where a compiler
/// could move it past a branch; code loads all vectors first, because the load of a partial vector
/// is a branch.
template <class V>
inline V rounded(V v) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif defined(__x86_64__)
  __asm__("" : "+x"(v));
#elif defined(__aarch64__)
  __asm__("" : "+w"(v));
#endif
  return v;
}

/// Lanes of 32 bits, whose sums wrap around. A lane holds one integer of 32 bits, two of 16 or four
/// of 8.
using Words = BitsVec<float>;

/// sum + a0 b0 + a1 b1 in each 32-bit lane: the dot product of two signed 16-bit integers is added
/// to a 32-bit integer (vpmaddwd, vpaddd). a0 and a1 are the lower and the upper half of the lane
/// of a, b0 and b1 those of b.
///
/// In assembly for AVX2 and AVX-512: compilers would add several dot products to each other before
/// they add them to `sum`, which leaves no registers for the sums of a tile.
inline Words add_pairs(Words sum, Words a, Words b) {
#if defined(__AVX512F__)
  Words product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+v"(sum), "=&v"(product) : "v"(a), "v"(b));
  return sum;
#elif defined(__AVX2__)
  Words product;
  __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(product) : "x"(a), "x"(b));
  return sum;
#elif defined(__SSE2__)
  return sum + reinterpret_cast<Words>(
                   _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  using Signed = Vec<std::int32_t>;
  const auto low = [](Words v) { return reinterpret_cast<Signed>(v << 16) >> 16; };
  const auto high = [](Words v) { return reinterpret_cast<Signed>(v) >> 16; };
  return sum + reinterpret_cast<Words>(low(a) * low(b)) +
         reinterpret_cast<Words>(high(a) * high(b));
#endif
}

// Dot products of bytes: add_dots<true>(sum, a, b) is sum + a0 b0 + a1 b1 + a2 b2 + a3 b3 in each
// 32-bit lane. a0 to a3 are the bytes of the lane of a, signed if kSignedBytes, b0 to b3 those of
// b, from -127 to 127. If kSignedBytes, add_dots<false> is the same without the instruction.
//
// kMayHaveDots: whether this object file contains the instruction; dot_products() says whether the
// processor has it, and only then may add_dots<true> be called.
#if defined(__AVX2__)
inline constexpr bool kMayHaveDots = true;
inline constexpr bool kSignedBytes = false;

/// VNNI: vpdpbusd.
template <bool>
inline Words add_dots(Words sum, Words a, Words b) {
#if defined(__AVX512F__)
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#else
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#endif
  return sum;
}
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_DOTPROD)
inline constexpr bool kMayHaveDots = true;
#else
inline constexpr bool kMayHaveDots = false;
#endif
inline constexpr bool kSignedBytes = true;

/// sdot; without it products of 16 bits, added in pairs: the sum of two is at most 2 * 128 * 127,
/// which fits 16 bits.
template <bool kDots>
inline Words add_dots(Words sum, Words a, Words b) {
  const auto x = reinterpret_cast<int8x16_t>(a);
  const auto y = reinterpret_cast<int8x16_t>(b);
  const auto total = reinterpret_cast<int32x4_t>(sum);
#if defined(__ARM_FEATURE_DOTPROD)
  if constexpr (kDots) return reinterpret_cast<Words>(vdotq_s32(total, x, y));
#endif
  const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(y));
  const int16x8_t pairs = vpaddq_s16(low, vmull_high_s8(x, y));
  return reinterpret_cast<Words>(vpadalq_s16(total, pairs));
}
#else
inline constexpr bool kMayHaveDots = false;
inline constexpr bool kSignedBytes = false;

template <bool>
inline Words add_dots(Words sum, Words, Words) {
  return sum;
}
#endif

#if defined(__AVX512F__)
inline Vec<float> sqrt(Vec<float> v) {
  return _mm512_maskz_sqrt_ps(0xFFFF, v);
}
inline Vec<double> sqrt(Vec<double> v) {
  return _mm512_maskz_sqrt_pd(0xFF, v);
}
#elif defined(__AVX2__)
inline Vec<float> sqrt(Vec<float> v) {
  return _mm256_sqrt_ps(v);
}
inline Vec<double> sqrt(Vec<double> v) {
  return _mm256_sqrt_pd(v);
}
#else
inline Vec<float> sqrt(Vec<float> v) {
  for (index_t i = 0; i < kLanes<float>; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
}
inline Vec<double> sqrt(Vec<double> v) {
  for (index_t i = 0; i < kLanes<double>; ++i) v[i] = __builtin_sqrt(v[i]);
  return v;
}
#endif

}  // namespace tessera::kernels::TESSERA_ISA
