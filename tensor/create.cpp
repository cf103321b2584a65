#include "tessera/tensor/create.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/error.h"

namespace tessera {

Nested::Nested(std::initializer_list<Nested> parts) : is_list_(true), parts_(parts) {}

Shape Nested::shape() const {
  if (!is_list_) return {};
  Shape inner = parts_.empty() ? Shape{} : parts_.front().shape();
  for (const Nested& part : parts_) {
    const Shape shape = part.shape();
    require(shape == inner, "tensor", "lists at one level must have equal shapes, got ", inner,
            " and ", shape);
  }
  inner.insert(0, std::ssize(parts_));
  return inner;
}

DType Nested::dtype() const {
  if (!is_list_) return dtype_;
  if (parts_.empty()) return kFloat32;
  DType result = kBool;
  for (const Nested& part : parts_) result = promote(result, part.dtype());
  return result;
}

/// Appends the leaves, as doubles or, if `floats` is null, as integers.
void Nested::write(double*& floats, index_t*& ints) const {
  for (const Nested& part : parts_) part.write(floats, ints);
  if (is_list_) return;
  std::visit(
      [&](auto value) {
        if (floats != nullptr) *floats++ = static_cast<double>(value);
        if (ints != nullptr) *ints++ = static_cast<index_t>(value);
      },
      value_);
}

Tensor tensor(const Nested& values, std::optional<DType> dtype) {
  const DType natural = values.dtype();
  // Integers pass through int64 and all others through float64, so that no value is rounded on the
  // way.
  Tensor result = Tensor::empty(values.shape(), natural == kInt64 ? kInt64 : kFloat64);
  double* floats = natural == kInt64 ? nullptr : result.mutable_data<double>();
  index_t* ints = natural == kInt64 ? result.mutable_data<index_t>() : nullptr;
  values.write(floats, ints);
  return result.to(dtype.value_or(natural));
}

template <ElementType T>
Tensor from_span(std::span<const T> values, const Shape& shape) {
  const index_t count = element_count("from_span", shape);
  require(std::ssize(values) == count, "from_span", "number of values must be ", count,
          " for shape ", shape, ", got ", values.size());
  Tensor result = Tensor::empty(shape, dtype_of<T>);
  std::copy(values.begin(), values.end(), result.mutable_data<T>());
  return result;
}

template Tensor from_span(std::span<const bool>, const Shape&);
template Tensor from_span(std::span<const index_t>, const Shape&);
template Tensor from_span(std::span<const float>, const Shape&);
template Tensor from_span(std::span<const double>, const Shape&);

Tensor from_vector(const std::vector<bool>& values, const Shape& shape) {
  const index_t count = element_count("from_vector", shape);
  require(std::ssize(values) == count, "from_vector", "number of values must be ", count,
          " for shape ", shape, ", got ", values.size());
  Tensor result = Tensor::empty(shape, kBool);
  std::copy(values.begin(), values.end(), result.mutable_data<bool>());
  return result;
}

Tensor full(const Shape& shape, Scalar value, DType dtype) {
  return Tensor::empty(shape, dtype).fill(value);
}

Tensor zeros(const Shape& shape, DType dtype) {
  return full(shape, 0, dtype);
}

Tensor ones(const Shape& shape, DType dtype) {
  return full(shape, 1, dtype);
}

Tensor full_like(const Tensor& x, Scalar value, std::optional<DType> dtype) {
  require(x.defined(), "full_like", "x must be defined, got an undefined tensor");
  return full(x.shape(), value, dtype.value_or(x.dtype()));
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) {
  require(x.defined(), "zeros_like", "x must be defined, got an undefined tensor");
  return zeros(x.shape(), dtype.value_or(x.dtype()));
}

Tensor ones_like(const Tensor& x, std::optional<DType> dtype) {
  require(x.defined(), "ones_like", "x must be defined, got an undefined tensor");
  return ones(x.shape(), dtype.value_or(x.dtype()));
}

namespace {

template <class Length, class Number>
void check_arange_length(Length length, Number start, Number stop, Number step) {
  constexpr double kMost = 1e15;
  require(static_cast<double>(length) <= kMost, "arange", "number of values must be at most ",
          kMost, ", got ", length, " from ", start, " to ", stop, " by ", step);
}

}  // namespace

namespace detail {

Tensor arange(double start, double stop, double step, DType dtype) {
  require(step != 0, "arange", "step must not be 0");
  require(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step), "arange",
          "start, stop and step must be finite, got ", start, ", ", stop, " and ", step);
  const double length = std::ceil((stop - start) / step);
  check_arange_length(length, start, stop, step);
  const auto count = static_cast<index_t>(std::max(length, 0.0));
  Tensor values = Tensor::empty({count}, kFloat64);
  double* out = values.mutable_data<double>();
  for (index_t i = 0; i < count; ++i) out[i] = start + static_cast<double>(i) * step;
  return values.to(dtype);
}

Tensor arange_of_integers(index_t start, index_t stop, index_t step, DType dtype) {
  require(step != 0, "arange", "step must not be 0");
  // Unsigned, because the distance may exceed int64.
  const auto up = [](index_t low, index_t high) {
    return low < high ? static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) : 0;
  };
  const std::uint64_t distance = step > 0 ? up(start, stop) : up(stop, start);
  const std::uint64_t stride = step > 0 ? up(0, step) : up(step, 0);
  const std::uint64_t length = distance / stride + (distance % stride > 0 ? 1 : 0);
  check_arange_length(length, start, stop, step);
  Tensor values = Tensor::empty({static_cast<index_t>(length)}, kInt64);
  index_t* out = values.mutable_data<index_t>();
  for (index_t i = 0; i < values.count(); ++i) {
    out[i] = static_cast<index_t>(static_cast<std::uint64_t>(start) +
                                  static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
  }
  return values.to(dtype);
}

}  // namespace detail

Tensor linspace(double start, double stop, index_t count, DType dtype) {
  require(count >= 0, "linspace", "count must be at least 0, got ", count);
  require(std::isfinite(stop - start), "linspace",
          "distance from start to stop must be finite, got ", start, " and ", stop);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  Tensor values = Tensor::empty({count}, kFloat64);
  double* const out = values.mutable_data<double>();
  for (index_t i = 0; i < count; ++i) {
    out[i] = i < (count + 1) / 2 ? start + static_cast<double>(i) * step
                                 : stop - static_cast<double>(count - 1 - i) * step;
  }
  return values.to(dtype);
}

Tensor eye(index_t rows, std::optional<index_t> columns, DType dtype) {
  Tensor result = zeros({rows, columns.value_or(rows)}, dtype);
  result.diagonal().fill(1);
  return result;
}

}  // namespace tessera
