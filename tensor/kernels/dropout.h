// Dropout. Its random bits are a pure function of a key and of an element's position, so that the
// backward pass recomputes them instead of storing a mask.
//
// Positions form a table. Each row and each column has a random word of 32 bits, a keyed
// permutation of its number, and each entry the word
//
//   word(row, column) = scramble(row word ^ column word)        16 bits for each of two elements
//
// which costs 9 vector operations for two vectors of elements. The words of rows and columns cost
// twice as many, but there are few of them.
//
// **Source**: the constants of `scramble` are Wellons', "Prospecting for hash functions", 2018,
// lowbias32; counter-based generators: Salmon et al., 2011, "Parallel random numbers: as easy as
// 1, 2, 3".
#pragma once

#include "tessera/tensor/kernels/simd.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

/// A permutation of 32-bit words: flipping one bit of x flips each bit of the result with
/// probability 1/2.
inline std::uint32_t scramble(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352DU;
  x = (x ^ x >> 15) * 0x846CA68BU;
  return x ^ x >> 16;
}

/// scramble of each lane; a lane of 64 bits holds one word of 32 bits.
template <class T>
[[gnu::always_inline]] inline BitsVec<T> scramble_lanes(BitsVec<T> x) {
  const BitsVec<T> word = broadcast(Bits<T>{0xFFFFFFFFU});
  x = ((x ^ x >> 16) * broadcast(Bits<T>{0x7FEB352DU})) & word;
  x = ((x ^ x >> 15) * broadcast(Bits<T>{0x846CA68BU})) & word;
  return x ^ x >> 16;
}

/// The keys of the permutations of row numbers and of column numbers in one table.
struct DropoutKeys {
  std::uint32_t row[2], column[2];
};

/// The keys of table (batch, head); batch and head are taken modulo 2^32.
inline DropoutKeys dropout_keys(std::uint64_t key, index_t batch, index_t head) {
  const auto derive = [&](std::uint32_t salt) {
    std::uint32_t x = scramble(static_cast<std::uint32_t>(key) ^ salt);
    x = scramble(x + static_cast<std::uint32_t>(key >> 32));
    x = scramble(x + static_cast<std::uint32_t>(batch));
    return scramble(x + static_cast<std::uint32_t>(head));
  };
  // The constants are the fractional digits of pi.
  return {{derive(0x243F6A88U), derive(0x85A308D3U)}, {derive(0x13198A2EU), derive(0x03707344U)}};
}

/// The word of row or column `number`.
inline std::uint32_t place_word(const std::uint32_t (&keys)[2], index_t number) {
  return scramble(scramble(static_cast<std::uint32_t>(number) ^ keys[0]) + keys[1]);
}

/// The words of the kLanes rows or columns from `first` on.
template <class T>
inline BitsVec<T> place_words(const std::uint32_t (&keys)[2], index_t first) {
  const BitsVec<T> word = broadcast(Bits<T>{0xFFFFFFFFU});
  BitsVec<T> lane = {};
  for (int i = 0; i < static_cast<int>(kLanes<T>); ++i) lane[i] = static_cast<Bits<T>>(i);
  const BitsVec<T> number = (lane + broadcast(static_cast<Bits<T>>(first))) & word;
  const BitsVec<T> once = scramble_lanes<T>(number ^ broadcast(Bits<T>{keys[0]}));
  return scramble_lanes<T>((once + broadcast(Bits<T>{keys[1]})) & word);
}

/// The mask of kept elements: element 0 uses the low 16 bits of `word`, element 1 the high 16 bits.
template <class T>
[[gnu::always_inline]] inline Mask<T> survives(BitsVec<T> word, int element, Mask<T> last_dropped) {
  const BitsVec<T> draw = element == 0 ? word & broadcast(Bits<T>{0xFFFF}) : word >> 16;
  return bit_cast<Mask<T>>(draw) > last_dropped;
}

/// The largest random number that drops an element, for `survives`.
template <class T>
inline Mask<T> last_dropped(const Dropout& dropout) {
  using Integer = typename IntegersOf<T>::mask;
  return broadcast(static_cast<Integer>(dropout.threshold - 1));
}

/// The scale of kept elements: the reciprocal of the share that is kept, or 0 if none is.
template <class T>
inline T survivor_scale(const Dropout& dropout) {
  const index_t kept = kDropoutSteps - dropout.threshold;
  return kept == 0 ? T{0}
                   : static_cast<T>(static_cast<double>(kDropoutSteps) / static_cast<double>(kept));
}

/// Dropout of `count` elements, at most one vector; `kept` is the mask of kept elements.
template <class T>
[[gnu::always_inline]] inline void drop_some(const DropoutArgs<T>& args, index_t at, index_t count,
                                             Mask<T> kept, T scale) {
  const Vec<T> x = load_some(args.x + at, count);
  // A choice, not a product with 0: a dropped NaN becomes 0.
  Vec<T> y = kept ? rounded(x * scale) : Vec<T>{};
  if (args.residual != nullptr) y = y + load_some(args.residual + at, count);
  store_some(args.y + at, y, count);
}

/// Elements 32 g to 32 g + 31 use the 16 random words of row g: the first 16
/// elements use the low bits of the words, the other 16 the high bits.
template <class T>
void dropout(const DropoutArgs<T>& args) noexcept {
  const DropoutKeys keys = dropout_keys(args.mask.key, 0, 0);
  const Mask<T> last = last_dropped<T>(args.mask);
  const T scale = survivor_scale<T>(args.mask);
  BitsVec<T> columns[kParts<T>];
  for (index_t part = 0; part < kParts<T>; ++part) {
    columns[part] = place_words<T>(keys.column, part * kLanes<T>);
  }
  for (index_t at = 0; at < args.n; at += kDropoutGroup) {
    const Bits<T> row = place_word(keys.row, (args.first + at) / kDropoutGroup);
    const bool whole = args.n - at >= kDropoutGroup;
#pragma GCC unroll 8
    for (index_t part = 0; part < kParts<T>; ++part) {
      const BitsVec<T> word = scramble_lanes<T>(columns[part] ^ broadcast(row));
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const index_t place = at + half * kVirtualLanes + part * kLanes<T>;
        const Mask<T> kept = survives<T>(word, half, last);
        if (whole) {
          drop_some(args, place, kLanes<T>, kept, scale);
        } else if (place < args.n) {
          drop_some(args, place, at_most(args.n - place, kLanes<T>), kept, scale);
        }
      }
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
