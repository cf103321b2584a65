// Matrices in int8: how numbers become codes of eight bits, and how the codes are stored.
//
// **Integers are faster and exact.** A dot product of bytes does four products in the time of one
// float product, and reads a quarter of the bytes. Sums of integers are exact in any order, so each
// element of A B is bitwise the same on every instruction set.
//
// **A scale is the size of one unit.** A column of B has whole numbers from -127 to 127 and one
// float, its scale: b = code * scale, with scale = max|b| / 127. A row of A has whole numbers from
// 0 to 255, a scale and a zero point, the code of the number 0:
//
//     low = min(row, 0)    high = max(row, 0)    scale = high / 255 - low / 255
//     zero = round(-low / scale)                 code = min(round(a / scale) + zero, 255)
//
//         low         0                    high
//     a    |----------|--------------------|         a = (code - zero) scale
//     code 0         zero                 255
//
// Ties round to even. The scale is at least 2^-126, so its reciprocal is finite. A division is a
// multiplication by the reciprocal; the product is rounded before it is added to anything. A row of
// zeros has codes 0. A row with inf or NaN has the scale NaN, and so its row of A B is NaN; no
// other row changes.
//
// **Rounding errors.** Rounding changes a number by at most half a scale: in B by max|b| / 254 of
// its column, in A by (high - low) / 510 of its row. One outlier makes the rounding of its whole
// row or column coarse.
//
// **The layout of codes.** A group is four neighbouring k, and a word holds the codes of one group
// and column. Like a panel of floats, a panel of B has rows of two vectors, one row for each group:
//
//                 column 0       column 1             the second vector
//     k 0..3    | b0 b1 b2 b3 | b0 b1 b2 b3 | ...  || ...                  |
//     k 4..7    | b4 b5 b6 b7 | b4 b5 b6 b7 | ...  || ...                  |
//
// Processors with dot products of bytes, and all 64-bit Arm processors, read words of A and B as
// they are. Arm multiplies signed bytes, so codes of A are stored there with 128 subtracted. Other
// processors multiply pairs of 16 bits: two shifts take (b0, b2) and (b1, b3) out of a word of B,
// in each tile or once per panel, and A's codes are stored as such pairs, (a0, a2) and (a1, a3), in
// two words. Rows of A are an odd number of cache lines apart, so that the rows of a tile do not
// compete for the same cache sets.
//
// **Source**: Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", 2018, equation 1.
#pragma once

#include "tessera/tensor/kernels/packing.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/reduce.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

/// The smallest scale.
inline constexpr float kLeastScale = 0x1p-126F;

/// Each element rounded to the nearest whole number, ties to even, plus `offset`. |v| < 2^22.
inline Words to_whole(Vec<float> v, std::uint32_t offset = 0) {
  constexpr float kLastBitIsOne = 12582912.0F;  // 1.5 * 2^23
  const Vec<float> shifted = v + kLastBitIsOne;
  return bit_cast<Words>(shifted) + (offset - bit_cast<std::uint32_t>(kLastBitIsOne));
}

/// The first n of the elements p[0], p[stride], ...; the other lanes are 0.
[[gnu::always_inline]] inline Vec<float> load_strided(const float* p, index_t stride, index_t n) {
  if (stride == 1) return load_some(p, n);
  Vec<float> v = {};
  for (index_t i = 0; i < n; ++i) v[i] = p[i * stride];
  return v;
}

/// Calls f(p, v, width) for the elements p, ..., p + width - 1 of x, which are lanes of v; the
/// other lanes are 0.
template <class F>
[[gnu::always_inline]] inline void for_each_vector(index_t n, const float* x, index_t stride,
                                                   const F& f) {
  constexpr index_t kLane = kLanes<float>;
  index_t p = 0;
  if (stride == 1) {
#pragma GCC unroll 4
    for (; p + kLane <= n; p += kLane) f(p, load(x + p), kLane);
  }
  for (; p < n; p += kLane) {
    const index_t width = at_most(n - p, kLane);
    f(p, load_strided(x + p * stride, stride, width), width);
  }
}

/// The smallest and the largest of 0 and some numbers, and whether all numbers are finite.
struct Int8Range {
  float low, high;
  bool finite;
};

inline Int8Range range_of(index_t n, const float* x, index_t stride) {
  constexpr int kChains = 4;
  Vec<float> low[kChains] = {};
  Vec<float> high[kChains] = {};
  Vec<float> spoiled[kChains] = {};  // NaN if a number is not finite
  const auto add = [&](int chain, Vec<float> v) {
    low[chain] = min(v, low[chain]);
    high[chain] = max(v, high[chain]);
    spoiled[chain] += v * 0.0F;
  };
  index_t p = 0;
  if (stride == 1) {
    for (; p + kChains * kLanes<float> <= n; p += kChains * kLanes<float>) {
#pragma GCC unroll 4
      for (int i = 0; i < kChains; ++i) add(i, load(x + p + i * kLanes<float>));
    }
  }
  for_each_vector(n - p, x + p * stride, stride,
                  [&](index_t, Vec<float> v, index_t) { add(0, v); });
  for (int i = 1; i < kChains; ++i) {
    low[0] = min(low[i], low[0]);
    high[0] = max(high[i], high[0]);
    spoiled[0] += spoiled[i];
  }
  const auto smaller = [](auto a, auto b) { return min(a, b); };
  const auto larger = [](auto a, auto b) { return max(a, b); };
  using Folded = FoldVector<float, static_cast<int>(kLanes<float>)>;
  return {Folded::fold(low[0], smaller), Folded::fold(high[0], larger),
          !any_lane<float>(spoiled[0] != Vec<float>{})};
}

inline bool is_finite(index_t n, const float* x, index_t stride) noexcept {
  return range_of(n, x, stride).finite;
}

/// Whether products take codes of A as bytes; otherwise they take pairs of 16 bits.
constexpr bool takes_bytes(bool dots) {
  return dots || kSignedBytes;
}

/// Codes of A as bytes are stored with this number subtracted, so that signed bytes can hold them.
inline constexpr std::uint32_t kCodeOffset = kSignedBytes ? 128 : 0;

/// The number of words that k codes of A fill.
inline index_t int8_words(index_t k, bool dots) noexcept {
  return ceil_div(k, kInt8Group) * (takes_bytes(dots) ? 1 : 2);
}

/// The number of words from one row of k codes of A to the next.
inline index_t int8_row_size(index_t k, bool dots) noexcept {
  constexpr index_t kLine = 16;
  const index_t lines = ceil_div(int8_words(k, dots), kLine);
  return (lines | 1) * kLine;
}

// As many integers of 8 or 16 bits as a vector has words.
typedef std::uint8_t Bytes __attribute__((vector_size(kVectorBytes / 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));

/// Stores the codes of neighbouring k, one in each element of `codes`, as adjacent bytes.
template <int... kIndex>
inline void store_bytes(std::uint32_t* to, index_t p, Words codes, Indices<kIndex...>) {
#if defined(__AVX512F__)
  const Bytes bytes = __builtin_convertvector(codes, Bytes);  // one instruction; on AVX2 many
#else
  using AllBytes = Vec<std::uint8_t>;
  const auto all = reinterpret_cast<AllBytes>(codes);
  const auto bytes = __builtin_shufflevector(all, all, (4 * kIndex)...);
#endif
  __builtin_memcpy(to + p / kInt8Group, &bytes, sizeof(bytes));
}

/// As store_bytes, but as pairs of 16 bits: codes 0 and 2 of a group, then 1 and 3.
template <int... kIndex>
inline void store_pairs(std::uint32_t* to, index_t p, Words codes, Indices<kIndex...>) {
  const Halves halves = __builtin_convertvector(codes, Halves);
  const Halves pairs = __builtin_shufflevector(
      halves, halves, (kIndex / 4 * 4 + kIndex % 4 / 2 + kIndex % 2 * 2)...);
  __builtin_memcpy(to + p / 2, &pairs, sizeof(pairs));
}

/// One row of A.
template <bool kDots>
inline void quantize_row(index_t k, const float* a, index_t stride, std::uint32_t* codes,
                         float& scale, std::int32_t& zero) {
  const Int8Range range = range_of(k, a, stride);
  if (!range.finite) {  // otherwise NaN would be converted to an integer below
    scale = __builtin_nanf("");
    zero = 0;
    const auto bytes = static_cast<std::size_t>(int8_words(k, kDots)) * sizeof(*codes);
    __builtin_memset(codes, kCodeOffset, bytes);  // code 0 as it is stored
    return;
  }
  const float span = range.high / 255.0F - range.low / 255.0F;
  scale = span > kLeastScale ? span : kLeastScale;
  const float per_unit = 1.0F / scale;
  const std::uint32_t shift = to_whole(rounded(broadcast(-range.low) * per_unit))[0];
  zero = static_cast<std::int32_t>(shift);
  const Vec<float> highest = broadcast(255.0F - static_cast<float>(zero));
  for_each_vector(k, a, stride, [&](index_t p, Vec<float> v, index_t) {
    const Words code = to_whole(min(rounded(v * per_unit), highest), shift);
    if constexpr (takes_bytes(kDots)) {
      store_bytes(codes, p, code - kCodeOffset,
                  typename IndicesBelow<static_cast<int>(kLanes<float>)>::type{});
    } else {
      store_pairs(codes, p, code, typename IndicesBelow<static_cast<int>(kLanes<float>)>::type{});
    }
  });
}

inline void quantize_rows(index_t m, index_t k, const MatrixRef<float>& a,
                          const Int8Rows& to) noexcept {
  const index_t size = int8_row_size(k, to.dots);
  const auto quantize = kMayHaveDots && to.dots ? quantize_row<kMayHaveDots> : quantize_row<false>;
  parallel_for(m, k / 2, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      quantize(k, a.at(i, 0).data, a.col, to.codes + i * size, to.scales[i], to.zeros[i]);
    }
  });
}

/// Packs the elements x as column j of the panels; returns whether they are finite.
inline bool pack_int8_column(index_t k, const float* x, index_t stride, index_t j,
                             std::int8_t* codes, float& scale, std::int32_t& sum) {
  const Int8Range range = range_of(k, x, stride);
  const float largest = range.high > -range.low ? range.high : -range.low;
  const float step = largest / 127.0F;
  scale = step > kLeastScale ? step : kLeastScale;
  const float per_unit = 1.0F / scale;
  Words sums = {};
  for_each_vector(k, x, stride, [&](index_t p, Vec<float> v, index_t width) {
    const Words code = to_whole(rounded(v * per_unit));
    sums += code;
    for (index_t i = 0; i < round_up(width, kInt8Group); ++i) {
      codes[int8_place(k, kPanel<float>, p + i, j)] = static_cast<std::int8_t>(code[i]);
    }
  });
  std::uint32_t total = 0;
  for (index_t i = 0; i < kLanes<float>; ++i) total += sums[i];
  sum = static_cast<std::int32_t>(total);
  return range.finite;
}

inline bool pack_int8(index_t k, index_t n, bool gated, const MatrixRef<float>& b,
                      std::int8_t* codes, float* scales, std::int32_t* sums) noexcept {
  bool finite = true;
  parallel_for(panel_columns(n, gated, kLanes<float>) / kPanel<float>, kPanel<float> * k,
               [&](index_t begin, index_t end) {
                 for (index_t j = begin * kPanel<float>; j < end * kPanel<float>; ++j) {
                   const index_t half = gated ? j % kPanel<float> / kLanes<float> : 0;
                   const index_t column =
                       gated ? j / kPanel<float> * kLanes<float> + j % kLanes<float> : j;
                   // A padding column has only zeros.
                   const float none = 0;
                   const bool exists = column < n;
                   const MatrixRef<float> x =
                       exists ? b.at(0, half * n + column) : MatrixRef<float>{&none, 0, 0};
                   if (!pack_int8_column(k, x.data, x.row, j, codes, scales[j], sums[j])) {
                     __atomic_store_n(&finite, false, __ATOMIC_RELAXED);
                   }
                 }
               });
  return finite;
}

}  // namespace tessera::kernels::TESSERA_ISA
