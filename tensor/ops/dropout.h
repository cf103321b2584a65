// Dropout.
#pragma once

#include <cstdint>

#include "tessera/tensor/tensor.h"

namespace tessera {

namespace kernels {
struct Dropout;
}

/// Two numbers that determine which elements of a tensor are dropped. The mask of all elements is
/// never in memory.
///
/// An element is dropped with probability p, rounded to a multiple of 1/65536. For a given p,
/// whether an element is dropped depends only on the key and on the element's position. Draw a new
/// random key for each call: `{.p = 0.1, .key = default_rng().next_u64()}`.
/// **Source**: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011, for bits that
/// depend only on a key and a position.
struct DropoutOptions {
  double p = 0;
  std::uint64_t key = 0;
};

/// x with the dropped elements set to 0 and the others divided by 1 - p, plus `residual` if it is
/// defined. Here p is rounded as in DropoutOptions. If p < 1, the expected value of each element is
/// its value in x, before `residual` is added. If p = 1, all elements are dropped.
///
/// An element's position is its index in row-major order, so layouts and threads do not change the
/// result. A dropped NaN becomes 0. The backward computes again which elements are dropped.
/// **Shapes**: x, residual if it is defined, and the result have the same shape.
/// **Errors**: a p outside [0, 1]; an x that is undefined or not floating; a residual of a
/// different shape or dtype.
/// **Source**: Srivastava et al., "Dropout: a simple way to prevent neural networks from
/// overfitting", 2014; torch.nn.functional.dropout.
Tensor dropout(const Tensor& x, const DropoutOptions& mask, const Tensor& residual = {});

namespace detail {

/// The mask as kernels take it. **Errors**: a p outside [0, 1]; the error names `op`.
kernels::Dropout dropout_of(const char* op, const DropoutOptions& mask);
/// **Errors**: those of dropout() for its tensors.
void check_dropout_inputs(const Tensor& x, const Tensor& residual);

}  // namespace detail

}  // namespace tessera
