// Softmax and its logarithm over one axis, several axes or all axes.
//
// Several axes are reduced together: softmax over {-2, -1} gives matrices whose elements sum to 1.
// An empty list, `{}`, means every axis. Other axes than the last are first copied into rows, so
// the bits do not depend on the position of the axis.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// exp(x) divided by the sum of exp(x) over `axes`. The largest x is subtracted first, so nothing
/// overflows.
///
/// **Shapes**: x (...) -> the same. The elements over `axes` sum to 1; if one is NaN or +inf, or
/// all are -inf, all become NaN, as in NumPy and PyTorch.
/// Integers and bool count as float32. **Errors**: an axis out of range or named twice.
/// **Source**: torch.softmax, scipy.special.softmax.
Tensor softmax(const Tensor& x, const Axes& axes = {-1});

/// log(softmax(x)), computed as x - logsumexp(x): finite even where softmax rounds to 0.
/// **Shapes**, **Errors**: as softmax.
/// **Source**: torch.log_softmax, scipy.special.log_softmax.
Tensor log_softmax(const Tensor& x, const Axes& axes = {-1});

/// log of the sum of exp(x) over `axes`, without overflow; -inf if there are no elements or all
/// elements are -inf.
///
/// **Shapes**: x (...) -> without `axes`, or with size 1 if `keepdim`.
/// **Errors**: as softmax. **Source**: torch.logsumexp, scipy.special.logsumexp.
Tensor logsumexp(const Tensor& x, const Axes& axes = {-1}, bool keepdim = false);

}  // namespace tessera
