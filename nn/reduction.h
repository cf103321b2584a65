// How the losses of a batch become one. Private to nn.
#pragma once

#include "nn/loss.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"

namespace tessera::nn::detail {

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
  fail("loss", "no such reduction");
}

}  // namespace tessera::nn::detail
