// Sinusoidal position tables.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// The table of sinusoidal positions, computed in double. A sine and a cosine share a frequency:
///
///     p(pos, 2k) = sin(pos f_k), p(pos, 2k + 1) = cos(pos f_k),   f_k = 10000^(-2k / width)
///
/// **Shapes**: (positions, width); an odd width ends with a sine. **Errors**: a negative size.
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.5.
Tensor sinusoidal_positions(index_t positions, index_t width, DType dtype = kFloat32);

}  // namespace tessera
