// Softmax and its logarithm over one axis, several axes or all axes.
//
// Several axes are reduced together: softmax over {-2, -1} gives matrices whose elements sum to 1.
// An empty list, `{}`, means every axis. If the elements over the axes are not contiguous, x is
// first copied so that they are. So the bits do not depend on the position of the axes.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// exp(x) divided by the sum of exp(x) over `axes`. The largest x is subtracted first, so nothing
/// overflows.
///
/// **Shapes**: x (...) -> the same. The results over `axes` sum to 1. If one element of x over
/// `axes` is NaN or +inf, or all are -inf, all these results are NaN, as in SciPy and PyTorch.
/// Integers and bools count as float32. **Errors**: an axis out of range or named twice; an
/// undefined tensor.
/// **Source**: torch.softmax, scipy.special.softmax.
Tensor softmax(const Tensor& x, const Axes& axes = {-1});

/// log(softmax(x)), computed as x - logsumexp(x): finite even where softmax rounds to 0.
/// **Shapes**, **Errors**: as softmax.
/// **Source**: torch.log_softmax, scipy.special.log_softmax.
Tensor log_softmax(const Tensor& x, const Axes& axes = {-1});

/// log of the sum of exp(x) over `axes`, without overflow; -inf if there are no elements or all
/// elements are -inf.
///
/// **Shapes**: x (...) -> the shape of x without `axes`, or with size 1 on `axes` if `keepdim` is
/// set.
/// **Errors**: as softmax. **Source**: torch.logsumexp, scipy.special.logsumexp.
Tensor logsumexp(const Tensor& x, const Axes& axes = {-1}, bool keepdim = false);

}  // namespace tessera
