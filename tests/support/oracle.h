// The naive definitions that ops are tested against: double precision, one element at a time, by
// loops over indices. They do not use the library's loops, broadcasting or axis rules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tessera/tensor/create.h"
#include "tessera/tensor/tensor.h"
#include "tests/support/support.h"

namespace tessera::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A row-major array of doubles.
struct Array {
  Shape shape;
  std::vector<double> values;

  double& at(const Dims& index) { return values[position(index)]; }
  double at(const Dims& index) const { return values[position(index)]; }

 private:
  std::size_t position(const Dims& index) const {
    index_t flat = 0;
    for (index_t axis = 0; axis < shape.size(); ++axis) flat = flat * shape[axis] + index[axis];
    return static_cast<std::size_t>(flat);
  }
};

/// Calls `body(index)` for every index of `shape`, the last axis fastest.
template <class Body>
void for_each_index(const Shape& shape, const Body& body) {
  for (index_t size : shape) {
    if (size == 0) return;
  }
  Dims index = Dims::filled(shape.size(), 0);
  for (;;) {
    body(static_cast<const Dims&>(index));
    index_t axis = shape.size() - 1;
    while (axis >= 0 && ++index[axis] == shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

/// An array of this shape whose element at `index` is `value(index)`.
template <class Value>
Array build(const Shape& shape, const Value& value) {
  Array result{shape, {}};
  for_each_index(shape, [&](const Dims& index) { result.values.push_back(double(value(index))); });
  return result;
}

/// The elements of a tensor of any strides and dtype.
inline Array array(const Tensor& x) {
  return build(x.shape(), [&](const Dims& index) {
    index_t offset = 0;
    for (index_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * x.strides()[axis];
    return visit_dtype(x.dtype(), [&](auto kind) {
      return static_cast<double>(static_cast<const decltype(kind)*>(x.untyped_data())[offset]);
    });
  });
}

/// f of each element.
template <class F>
Array map(const Array& a, const F& f) {
  return build(a.shape, [&](const Dims& index) { return f(a.at(index)); });
}

/// The element of `a`, broadcast to a shape of which `index` is an index.
inline double broadcast_at(const Array& a, const Dims& index) {
  Dims own;
  const index_t lead = index.size() - a.shape.size();
  for (index_t axis = 0; axis < a.shape.size(); ++axis) {
    own.push_back(a.shape[axis] == 1 ? 0 : index[lead + axis]);
  }
  return a.at(own);
}

inline Shape naive_broadcast(Shape a, Shape b) {
  while (a.size() < b.size()) a.insert(0, 1);
  while (b.size() < a.size()) b.insert(0, 1);
  for (index_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] == 1) a[axis] = b[axis];
  }
  return a;
}

/// f of each pair of elements of two arrays that are broadcast.
template <class F>
Array map(const Array& a, const Array& b, const F& f) {
  return build(naive_broadcast(a.shape, b.shape), [&](const Dims& index) {
    return f(broadcast_at(a, index), broadcast_at(b, index));
  });
}

/// f of the list of elements, in row-major order, that share an index outside `axes`; `axes` are
/// positive; an empty list means all.
template <class F>
Array reduce(const Array& a, const Axes& axes, bool keepdim, const F& f) {
  const auto is_reduced = [&](index_t axis) {
    return axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  Shape outer;
  Shape inner;
  Shape result;
  for (index_t axis = 0; axis < a.shape.size(); ++axis) {
    const bool reduced = is_reduced(axis);
    (reduced ? inner : outer).push_back(a.shape[axis]);
    if (!reduced || keepdim) result.push_back(reduced ? 1 : a.shape[axis]);
  }
  Array out = build(outer, [&](const Dims& outer_index) {
    std::vector<double> values;
    for_each_index(inner, [&](const Dims& inner_index) {
      Dims index;
      index_t o = 0;
      index_t i = 0;
      for (index_t axis = 0; axis < a.shape.size(); ++axis) {
        index.push_back(is_reduced(axis) ? inner_index[i++] : outer_index[o++]);
      }
      values.push_back(a.at(index));
    });
    return f(values);
  });
  out.shape = result;
  return out;
}

/// A tensor in a memory layout, for tests that must hold in each.
struct Layout {
  std::string name;
  Tensor tensor;
};

/// `values` (of any dtype) as tensors of several layouts: equal elements, different strides.
inline std::vector<Layout> layouts_of(const Tensor& values) {
  const index_t rank = values.rank();
  Axes reversed;
  Shape reversed_shape;
  Shape spaced_shape;
  for (index_t axis = 0; axis < rank; ++axis) {
    reversed.push_back(rank - 1 - axis);
    reversed_shape.push_back(values.shape()[rank - 1 - axis]);
    spaced_shape.push_back(2 * values.shape()[axis] + 1);
  }
  Tensor transposed = Tensor::empty(reversed_shape, values.dtype()).permute(reversed);
  Tensor sliced = zeros(spaced_shape, values.dtype());
  Tensor backwards = Tensor::empty(values.shape(), values.dtype());
  for (index_t axis = 0; axis < rank; ++axis) {
    sliced = sliced.slice(axis, 1, {}, 2);
    backwards = backwards.slice(axis, {}, {}, -1);
  }
  std::vector<Layout> result{{"contiguous", values.clone()},
                             {"transposed", transposed.copy_from(values)},
                             {"sliced", sliced.copy_from(values)},
                             {"backwards", backwards.copy_from(values)}};
  if (rank >= 1) {
    Shape wide = values.shape();
    wide[rank - 1] += 3;
    Tensor padded = zeros(wide, values.dtype()).slice(-1, 1, -2);  // rows apart and misaligned
    result.push_back({"padded", padded.copy_from(values)});
  }
  return result;
}

/// Random values in [low, high): rounded down for int64, compared with the middle for bool.
inline Tensor random_tensor(const Shape& shape, DType dtype, std::uint64_t seed, double low = -2,
                            double high = 2) {
  index_t count = 1;
  for (index_t size : shape) count *= size;
  std::vector<double> values = random_values<double>(count, seed, low, high);
  for (double& value : values) {
    if (dtype == kInt64) value = std::floor(value);
    if (dtype == kBool) value = value < (low + high) / 2 ? 0 : 1;
  }
  return from_vector(values, shape).to(dtype);
}

/// layouts_of random values, and two broadcast views if the shape has axes to broadcast.
inline std::vector<Layout> random_layouts(const Shape& shape, DType dtype, std::uint64_t seed,
                                          double low = -2, double high = 2) {
  std::vector<Layout> result = layouts_of(random_tensor(shape, dtype, seed, low, high));
  for (const index_t axis : {index_t{0}, shape.size() - 1}) {
    if (shape.empty() || shape[axis] == 0) continue;
    Shape thin = shape;
    thin[axis] = 1;
    result.push_back({"broadcast along axis " + std::to_string(axis),
                      random_tensor(thin, dtype, seed + 1, low, high).expand(shape)});
  }
  return result;
}

/// Whether `got` has the shape of `want` and each element is within `absolute + relative * |want|`
/// of it. NaN equals NaN, and an infinity equals only itself.
inline ::testing::AssertionResult near(const Tensor& got, const Array& want, double relative,
                                       double absolute = 0) {
  if (!(got.shape() == want.shape)) {
    return ::testing::AssertionFailure() << "shape " << got.shape() << ", wanted " << want.shape;
  }
  const Array have = array(got);
  std::size_t worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < have.values.size(); ++i) {
    const double a = have.values[i];
    const double b = want.values[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    double excess = std::fabs(a - b) / (absolute + relative * std::fabs(b));
    if (!std::isfinite(a) || !std::isfinite(b)) excess = std::numeric_limits<double>::infinity();
    if (excess <= 1 || excess <= worst_excess) continue;
    worst = i;
    worst_excess = excess;
  }
  if (worst_excess == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "worst element " << worst << " of " << have.values.size() << " (shape " << want.shape
         << ", " << got.dtype() << "): got " << ::testing::PrintToString(have.values[worst])
         << ", want " << ::testing::PrintToString(want.values[worst]) << ", " << worst_excess
         << " times the tolerance; " << circumstances();
}

/// Whether `got` has exactly the elements of `want`, as doubles.
inline ::testing::AssertionResult exactly(const Tensor& got, const Array& want) {
  return near(got, want, 0);
}

/// Whether two tensors agree in dtype, shape and every bit (any NaN equals any other).
inline ::testing::AssertionResult same_bits(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype() || !(got.shape() == want.shape())) {
    return ::testing::AssertionFailure()
           << got.dtype() << got.shape() << ", wanted " << want.dtype() << want.shape();
  }
  return visit_dtype(got.dtype(), [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_same_v<T, bool>) {
      return same_bits(got.to(kInt64).to_vector<index_t>(), want.to(kInt64).to_vector<index_t>());
    } else {
      return same_bits(got.to_vector<T>(), want.to_vector<T>());
    }
  });
}

/// The largest relative error of one rounding.
inline double rounding(DType dtype) {
  return dtype == kFloat32 ? 6e-8 : dtype == kFloat64 ? 1.2e-16 : 0;
}

/// A relative error of several roundings, for functions and sums of few elements.
inline double tolerance(DType dtype) {
  return 16 * rounding(dtype);
}

}  // namespace tessera::test
