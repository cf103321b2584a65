// Dropout of a tensor's elements, with the residual sum in the same pass.
#pragma once

#include "tensor/kernels/dropout_bits.h"

namespace tessera::kernels::TESSERA_ISA {

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

/// Elements 32 g to 32 g + 31 use the 16 random words of row g (dropout_bits.h): the first 16
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
