// Makes tensors: from numbers in the code, from vectors, and by rule.
//
// **Errors** of all functions that take a shape or a size: as Tensor::empty.
#pragma once

#include <concepts>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// Numbers in nested braces, the argument of tensor(): `{{1, 0}, {0, 2}}`.
class Nested {
 public:
  Nested(bool value) : value_(value ? 1.0 : 0.0), dtype_(kBool) {}
  Nested(int value) : value_(value), dtype_(kInt64) {}
  Nested(index_t value) : value_(value), dtype_(kInt64) {}
  Nested(float value) : value_(static_cast<double>(value)), dtype_(kFloat32) {}
  Nested(double value) : value_(value), dtype_(kFloat32) {}
  Nested(std::initializer_list<Nested> parts);

 private:
  friend Tensor tensor(const Nested& values, std::optional<DType> dtype);
  Shape shape() const;
  DType dtype() const;
  void write(double*& floats, index_t*& ints) const;

  bool is_list_ = false;
  std::vector<Nested> parts_;
  std::variant<double, index_t> value_ = 0.0;
  DType dtype_ = kFloat32;
};

/// A tensor of the numbers in nested braces.
///
/// Without `dtype`: float32 if any number is floating or there is no number; else int64 if any is
/// an integer; else bool.
/// **Shapes**: the nesting; `tensor(3.0)` has shape (), `tensor({3.0})` shape (1,).
/// **Errors**: lists of different shapes, or a list and a number, at one level; more than kMaxRank
/// levels.
/// **Source**: torch.tensor.
Tensor tensor(const Nested& values, std::optional<DType> dtype = std::nullopt);

/// A tensor of copies of `values`, in row-major order. **Errors**: a number of values that is not
/// the number of elements of `shape`.
template <ElementType T>
Tensor from_span(std::span<const T> values, const Shape& shape);

namespace detail {

/// The number as int64. **Errors**: a number above the greatest int64.
template <std::integral T>
index_t to_index(const char* op, T number) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(index_t)) {
    constexpr auto kMost = static_cast<T>(std::numeric_limits<index_t>::max());
    require(number <= kMost, op, "numbers must be at most ", kMost, ", got ", number);
  }
  return static_cast<index_t>(number);
}

}  // namespace detail

/// As from_span.
Tensor from_vector(const std::vector<bool>& values, const Shape& shape);
/// As from_span.
template <ElementType T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  return from_span(std::span<const T>(values), shape);
}
/// As from_span, for other integers: the result is int64. **Errors**: also a number above the
/// greatest int64.
template <std::integral T>
requires(!ElementType<T>) Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  std::vector<index_t> integers;
  for (const T value : values) integers.push_back(detail::to_index("from_vector", value));
  return from_vector(integers, shape);
}
/// As from_span, with one axis.
template <detail::Number T>
Tensor from_vector(const std::vector<T>& values) {
  return from_vector(values, {std::ssize(values)});
}

/// A tensor whose elements are all `value`. **Shapes**: result `shape`. **Errors**: as
/// Tensor::fill.
/// **Source**: torch.full, numpy.full.
Tensor full(const Shape& shape, Scalar value, DType dtype = kFloat32);
/// A tensor of zeros. **Shapes**: result `shape`.
/// **Source**: torch.zeros, numpy.zeros.
Tensor zeros(const Shape& shape, DType dtype = kFloat32);
/// A tensor of ones. **Shapes**: result `shape`.
/// **Source**: torch.ones, numpy.ones.
Tensor ones(const Shape& shape, DType dtype = kFloat32);

/// full, zeros and ones with the shape of x and, by default, the dtype of x; the result is
/// contiguous and has no gradient.
/// **Shapes**: any -> the same. **Errors**: an undefined x (`Tensor()`). **Source**: torch, numpy,
/// by the same names.
Tensor full_like(const Tensor& x, Scalar value, std::optional<DType> dtype = {});
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {});
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {});

namespace detail {

Tensor arange(double start, double stop, double step, DType dtype);
Tensor arange_of_integers(index_t start, index_t stop, index_t step, DType dtype);

/// As in PyTorch: int64 if all numbers are integers, else float32.
template <class... Numbers>
inline constexpr DType range_dtype = (std::integral<Numbers> && ...) ? kInt64 : kFloat32;

}  // namespace detail

/// The numbers start, start + step, ... that are below stop (above stop if step is negative); by
/// default int64 if all three arguments are integers, else float32.
/// **Shapes**: (max(ceil((stop - start) / step), 0)). **Errors**: a step of 0; numbers that are not
/// finite, or integers above the greatest int64; more than 1e15 values.
/// **Source**: torch.arange.
template <detail::Number A, detail::Number B, detail::Number C = int>
Tensor arange(A start, B stop, C step = 1, DType dtype = detail::range_dtype<A, B, C>) {
  if constexpr (std::integral<A> && std::integral<B> && std::integral<C>) {
    return detail::arange_of_integers(detail::to_index("arange", start),
                                      detail::to_index("arange", stop),
                                      detail::to_index("arange", step), dtype);
  } else {
    return detail::arange(static_cast<double>(start), static_cast<double>(stop),
                          static_cast<double>(step), dtype);
  }
}
/// As arange(0, stop).
template <detail::Number A>
Tensor arange(A stop, DType dtype = detail::range_dtype<A>) {
  return arange(A{0}, stop, 1, dtype);
}

/// `count` numbers from start to stop, both included, at equal distances; if count is 1, only
/// start.
///
/// The first half of the numbers is computed from start and the second half from stop, so that the
/// first number is exactly start, and the last is exactly stop. For int64 the numbers are rounded
/// towards 0.
/// **Shapes**: (count). **Errors**: a negative count; a distance from start to stop that is not
/// finite.
/// **Source**: torch.linspace, numpy.linspace.
Tensor linspace(double start, double stop, index_t count, DType dtype = kFloat32);

/// Ones on the diagonal, zeros elsewhere. **Shapes**: (rows, columns); (rows, rows) if `columns` is
/// absent.
/// **Source**: torch.eye, numpy.eye.
Tensor eye(index_t rows, std::optional<index_t> columns = {}, DType dtype = kFloat32);

}  // namespace tessera
