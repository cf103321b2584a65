// Reductions: one value from the elements along some axes.
//
// Axes: any set, negative or not; none named means all. **Shapes**: the reduced axes disappear, or stay
// with size 1 where `keepdim` is set. **Errors**: an axis out of range or named twice.
//
// The reduced elements are taken in row-major order of their indices, whatever the strides, and
// summed in one fixed order: sixteen partial sums and one tree for each block of 65536, then the
// blocks likewise. So neither layout nor threads nor vector width changes a bit.
// **Source**: torch, by the same names.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// The sum; 0 of no elements. Integers and bools give int64, which wraps around at 2^64.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The arithmetic mean; NaN of no elements. Integers and bools give float32.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The largest element; NaN where one is NaN. **Errors**: no elements to choose from.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The smallest element; NaN where one is NaN. **Errors**: no elements to choose from.
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// Where the largest element is: its place, int64, in the row-major order of the reduced elements,
/// so along one axis its index. The first of equals; the first NaN before any number.
/// **Errors**: no elements to choose from.
Tensor argmax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// Where the smallest element is; as argmax otherwise, so the first NaN comes before any number.
Tensor argmin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The product, computed in double precision; 1 of no elements. Integers and bools give int64,
/// which wraps around at 2^64.
///
/// The gradient of each element is the product of the others, which is correct with zeros too.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// sum of (x - mean)^2 / max(n - correction, 0), in two passes.
///
/// A correction of 1 estimates the variance of a population from a sample (NaN of one element), 0
/// gives the variance of the elements themselves. Integers and bools give float32.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, index_t correction = 1);

/// sqrt(var).
Tensor std_dev(const Tensor& x, const Axes& axes = {}, bool keepdim = false,
               index_t correction = 1);

/// The Euclidean length, sqrt(sum of x^2). Integers and bools give float32.
/// **Source**: torch.linalg.vector_norm.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The sums of the first 1, 2, ... elements along `axis`; float32 is summed in double precision.
///
/// **Shapes**: that of x. Integers and bools give int64.
Tensor cumsum(const Tensor& x, index_t axis);

/// The cosine of the angle between vectors along `axis`: a b / (max(|a|, eps) max(|b|, eps)).
///
/// **Shapes**: any two that broadcast, without `axis` (of the broadcast shape).
/// A zero vector has similarity 0 to everything. Integers and bools give float32.
/// **Errors**: shapes that do not broadcast, an axis out of range, an eps below 0.
/// **Source**: torch.nn.functional.cosine_similarity.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, index_t axis = 1, double eps = 1e-8);

}  // namespace tessera
