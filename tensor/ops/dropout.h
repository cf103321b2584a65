// Dropout.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace tessera {

namespace kernels {
struct Dropout;
}

/// Which elements of a tensor are dropped, as two numbers: the mask itself is never in memory.
///
/// An element is dropped with probability p, rounded to a multiple of 1/65536; whether it is
/// depends only on the key and on the element's position. Keys come from a generator, one for each
/// call: `{.p = 0.1, .key = default_rng().next_u64()}`.
struct DropoutMask {
  double p = 0;
  std::uint64_t key = 0;
};

/// `x o keep / (1 - p) (+ residual)`, with p rounded as above: x with some elements zeroed and the
/// rest scaled, so that the mean stays the same.
///
/// An element's place is its number in row-major order: layouts and threads change no bit. A NaN that
/// is dropped is gone. With p = 1 nothing is left. The backward draws the mask again.
/// **Shapes**: x, residual if it is defined, and the result are of one shape.
/// **Errors**: a p outside [0, 1]; a dtype that is not floating; a residual that does not fit.
/// **Source**: Srivastava et al., "Dropout: a simple way to prevent neural networks from
/// overfitting", 2014; torch.nn.functional.dropout.
Tensor dropout(const Tensor& x, const DropoutMask& mask, const Tensor& residual = {});

namespace detail {

/// The mask as kernels take it. **Errors**: of the op named: a p outside [0, 1].
kernels::Dropout dropout_of(const char* op, const DropoutMask& mask);

}  // namespace detail

}  // namespace tessera
