// Softmax and its logarithms over one axis, several, or all.
//
// The axes are taken together: softmax over {-2, -1} gives matrices whose elements sum to 1. No
// axes at all, `{}`, means every axis. Over an axis that is not the last, elements are first moved
// into rows, so that the bits do not depend on which axis it is.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// exp(x) / sum of exp(x), the sum over `axes`; the largest x is subtracted first, so that nothing
/// overflows.
///
/// **Shapes**: x (...) -> the same. The elements over `axes` sum to 1; where they hold a NaN or
/// +inf, or are all -inf, they become NaN, as in NumPy and PyTorch.
/// Integers and bool count as float32. **Errors**: an axis out of range or named twice.
/// **Source**: torch.softmax, scipy.special.softmax.
Tensor softmax(const Tensor& x, const Axes& axes = {-1});

/// log(softmax(x)), computed as x - logsumexp(x): finite where softmax rounds to 0.
/// **Shapes**, **Errors**: as softmax.
Tensor log_softmax(const Tensor& x, const Axes& axes = {-1});

/// log of the sum of exp(x) over `axes`, without overflow; -inf where there are no elements or all
/// are -inf.
///
/// **Shapes**: x (...) -> without `axes`, or with size 1 there under `keepdim`.
/// **Errors**: as softmax. **Source**: torch.logsumexp, scipy.special.logsumexp.
Tensor logsumexp(const Tensor& x, const Axes& axes = {-1}, bool keepdim = false);

}  // namespace tessera
