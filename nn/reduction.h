// How the losses of a batch become one. Private to nn.
#pragma once

#include "nn/loss.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"

namespace tessera::nn::detail {

inline void require_reduction(const char* op, Reduction reduction) {
  require_enum(op, "reduction", reduction, Reduction::kNone);
}

/// `losses`, reduced; the mean is over `count`.
inline Tensor reduced(const Tensor& losses, Reduction reduction, double count) {
  switch (reduction) {
    case Reduction::kNone:
      return losses;
    case Reduction::kSum:
      return sum(losses);
    case Reduction::kMean:
      return sum(losses) / count;
  }
  __builtin_unreachable();  // callers have checked it
}

}  // namespace tessera::nn::detail
