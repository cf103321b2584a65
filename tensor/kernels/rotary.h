// Rotary embedding: pairs of columns of a head are rotated by angles that grow with the position.
//
//     a' = a cos - b sin        b' = b cos + a sin
//
// The first r columns are rotated. A pair (a, b) is columns k and k + r/2, or 2k and 2k + 1 if
// pairs are interleaved. A lane of a vector holds a pair. The products with the sine are rounded
// separately, so that only the products with the cosine can be fused (README.md, rule 3).
//
// **Source**: Su et al., "RoFormer", 2021, section 3.4.2.
#pragma once

#include "tessera/tensor/kernels/packing.h"
#include "tessera/tensor/kernels/reduce.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

template <class V>
[[gnu::always_inline]] inline void rotate(V& a, V& b, V cosine, V sine) {
  const V a_sine = rounded(a * sine);
  const V b_sine = rounded(b * sine);
  a = a * cosine - b_sine;
  b = b * cosine + a_sine;
}

/// Rotates pairs (a[k], b[k]) into (to_a[k], to_b[k]), which may be the same memory.
template <class T>
inline void rotate_halves(index_t pairs, const T* a, const T* b, const T* cosine, const T* sine,
                          T* to_a, T* to_b) {
  for_each_vector<T>(pairs, [=](index_t k, index_t count) {
    Vec<T> first = load_some(a + k, count);
    Vec<T> second = load_some(b + k, count);
    rotate(first, second, load_some(cosine + k, count), load_some(sine + k, count));
    store_some(to_a + k, first, count);
    store_some(to_b + k, second, count);
  });
}

/// De-interleaves a and b: their elements 0, 2, 4, ... (kFirst = 0) or 1, 3, 5, ... (kFirst = 1).
template <int kFirst, class V, int... kIndex>
[[gnu::always_inline]] inline V every_second(V a, V b, Indices<kIndex...>) {
  return __builtin_shufflevector(a, b, (2 * kIndex + kFirst)...);
}

/// Rotates pairs of adjacent columns. With kBack, the angles are the opposite ones: the same
/// rotation with a and b exchanged.
template <bool kBack, class T>
inline void rotate_interleaved(index_t pairs, const T* x, const T* cosine, const T* sine, T* y) {
  using Lanes = typename IndicesBelow<static_cast<int>(kLanes<T>)>::type;
  for_each_vector<T>(pairs, [=](index_t k, index_t count) {
    const index_t in_low = at_most(2 * count, kLanes<T>);
    const index_t in_high = 2 * count - in_low;
    Vec<T> low = load_some(x + 2 * k, in_low);
    Vec<T> high = load_some(x + 2 * k + in_low, in_high);
    Vec<T> a = every_second<0>(low, high, Lanes{});
    Vec<T> b = every_second<1>(low, high, Lanes{});
    const Vec<T> c = load_some(cosine + k, count);
    const Vec<T> s = load_some(sine + k, count);
    if constexpr (kBack) {
      rotate(b, a, c, s);
    } else {
      rotate(a, b, c, s);
    }
    low = interleave_first(a, b, Lanes{});
    high = interleave_second(a, b, Lanes{});
    store_some(y + 2 * k, low, in_low);
    store_some(y + 2 * k + in_low, high, in_high);
  });
}

/// Rotates one head of one token.
template <class T>
inline void rotate_head(const HeadRotation<T>& rotation, bool back, const T* cosine, const T* x,
                        T* y) {
  const index_t rotated = rotation.rotated;
  const index_t pairs = rotated / 2;
  const T* const sine = cosine + pairs;
  if (rotation.interleaved) {
    back ? rotate_interleaved<true>(pairs, x, cosine, sine, y)
         : rotate_interleaved<false>(pairs, x, cosine, sine, y);
  } else {
    // As above: for the opposite angles, a and b are exchanged.
    const index_t a = back ? pairs : 0;
    const index_t b = back ? 0 : pairs;
    rotate_halves(pairs, x + a, x + b, cosine, sine, y + a, y + b);
  }
  if (x == y) return;
  for_each_vector<T>(rotation.width - rotated, [=](index_t k, index_t count) {
    store_some(y + rotated + k, load_some(x + rotated + k, count), count);
  });
}

template <class T>
void rotary(const RotaryArgs<T>& args) noexcept {
  const HeadRotation<T>& how = args.rotation;
  index_t sequence = args.first_row / how.tokens;
  index_t token = args.first_row % how.tokens;
  for (index_t row = args.first_row; row < args.first_row + args.rows; ++row) {
    const index_t position = how.positions != nullptr ? how.positions[row] : token;
    const T* const x = args.x.data + sequence * args.x.batch + token * args.x.token;
    T* const y = args.y.data + sequence * args.y.batch + token * args.y.token;
    for (index_t h = 0; h < how.heads; ++h) {
      rotate_head(how, args.back, how.table + position * how.rotated, x + h * args.x.head,
                  y + h * args.y.head);
    }
    if (++token == how.tokens) {
      token = 0;
      ++sequence;
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
