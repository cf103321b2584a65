// Reductions: one value from the elements along some axes.
//
// The axes may be negative; by default all axes are reduced. **Shapes**: the reduced axes
// disappear, or keep size 1 if `keepdim` is set. **Errors**: an axis out of range or named twice;
// an undefined tensor.
//
// The reduced elements are taken in row-major order of their indices, for any strides, and combined
// in a fixed order, so layout, threads and vector width do not change the bits. For sum, mean and
// norm, each block of 65536 elements has 16 partial sums, which one tree adds up; then the sums of
// the blocks are added in the same way. tensor/kernels/reduce.h has the exact order in a block.
// **Source**: torch, by the same names, except that std_dev is torch.std. max and min return only
// the values: see argmax and argmin for the indices.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The sum; 0 without elements. Integers and bools give int64, modulo 2^64.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The arithmetic mean; NaN without elements. Integers and bools give float32 (an error in torch).
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The largest element; NaN if any element is NaN. **Errors**: no elements.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The smallest element; NaN if any element is NaN. **Errors**: no elements.
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The position of the largest element, int64, in the row-major order of the reduced elements;
/// along one axis this is the element's index. Among equal elements, the first one counts; if there
/// is a NaN, the first NaN. **Errors**: no elements.
Tensor argmax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The position of the smallest element; otherwise as argmax: if there is a NaN, the first NaN.
Tensor argmin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The product, for floating x computed in double precision; 1 without elements. Integers and bools
/// give int64, modulo 2^64.
///
/// The derivative with respect to an element is the product of the other elements, also if some
/// elements are 0.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The variance: the sum of (x - mean)^2 over n elements, divided by max(n - correction, 0).
///
/// With a correction of 1, the result estimates the variance of a population from a sample, and is
/// NaN for one element. With a correction of 0, the result is the variance of the elements
/// themselves. Integers and bools give float32.
Tensor var(const Tensor& x, const Axes& axes = {}, bool keepdim = false, index_t correction = 1);

/// The standard deviation: the square root of var.
Tensor std_dev(const Tensor& x, const Axes& axes = {}, bool keepdim = false,
               index_t correction = 1);

/// The Euclidean norm, sqrt(sum of x^2), which overflows for norms from about 1.8e19 in
/// float32. Integers and bools give float32.
/// **Source**: torch.linalg.vector_norm.
Tensor norm(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// The sums of the first 1, 2, ... elements along `axis`. The sums of float32 are computed in
/// double precision.
///
/// **Shapes**: that of x. Integers and bools give int64.
Tensor cumsum(const Tensor& x, index_t axis);

/// The cosine of the angle between vectors along `axis`: the dot product of a and b, divided by
/// max(|a|, eps) max(|b|, eps).
///
/// **Shapes**: any two that broadcast -> the broadcast shape without `axis`. If eps is above 0, a
/// zero vector has similarity 0 to every vector. Integers and bools give float32.
/// **Errors**: shapes that do not broadcast, an axis out of range, an eps below 0.
/// **Source**: torch.nn.functional.cosine_similarity.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, index_t axis = 1, double eps = 1e-8);

}  // namespace tessera
