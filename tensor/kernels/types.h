// Types that all layers share. This header has no inline code of the standard library, so that a
// file compiled for one instruction set may include it (see kernels/README.md, "One definition").
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Sizes, strides and indices, in elements. Signed, so that differences and negative strides are
/// plain arithmetic.
using index_t = std::int64_t;

/// Reductions along a row keep this many partial sums on every instruction set: element k goes into
/// partial sum k mod 16, and one fixed tree adds the 16 sums. So the bits do not depend on the
/// vector width.
inline constexpr index_t kVirtualLanes = 16;

/// The nonlinearity after a linear layer.
/// **Source**: as relu, gelu, gelu_tanh and silu in tensor/ops/unary.h.
enum class Activation {
  kNone,
  kRelu,      // max(x, 0)
  kGelu,      // x/2 (1 + erf(x / sqrt 2)): PyTorch's default, Hugging Face's "gelu"
  kGeluTanh,  // the tanh approximation of kGelu: Hugging Face's "gelu_new" and "gelu_pytorch_tanh"
  kSilu,      // x / (1 + exp(-x)), also called swish
};

}  // namespace tessera
