// Sinusoidal position tables.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// How fast the angle of column i falls: angle(pos, i) = pos / 10000^e(i). Sine in even columns,
/// cosine in odd ones.
enum class PositionExponent {
  /// e(i) = 2 floor(i/2) / D: the paper's. A sine and a cosine share one frequency, and the
  /// frequencies span the whole range from 1 to 1/10000.
  kVaswani,
  /// e(i) = 4 floor(i/2) / D: a loop over the even columns i that writes 2i where the paper's i
  /// counts pairs. Pairs share a frequency, which falls twice as fast.
  kPairDoubled,
  /// e(i) = 2 i / D: a loop over all columns i that writes 2i. The cosine beside a sine has a
  /// frequency of its own.
  kColumnDoubled,
};

/// The table of sinusoidal positions, computed in double.
///
/// **Shapes**: (positions, width); an odd width ends with a sine. **Errors**: a negative size; an
/// unknown exponent.
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.5.
Tensor sinusoidal_positions(index_t positions, index_t width,
                            PositionExponent exponent = PositionExponent::kVaswani,
                            DType dtype = kFloat32);

}  // namespace tessera
