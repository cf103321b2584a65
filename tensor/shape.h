// Shapes and strides: short lists of index_t stored inside each Tensor, and the arithmetic on these
// lists (broadcasting, axis rules, overflow checks).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

/// The largest number of axes a tensor can have.
inline constexpr index_t kMaxRank = 8;

/// A list of at most kMaxRank sizes, strides or axes, stored in place: making a view allocates
/// no memory. Converts from `{2, 3}`, from a single integer as in `mean(x, -1)`, and from
/// std::vector.
/// **Errors**: more than kMaxRank entries.
class Dims {
 public:
  Dims() = default;
  Dims(index_t only) : rank_(1), values_{only} {}
  /// Flags and fractions are not axes: `mean(x, true)`, where `true` is meant as keepdim, and
  /// `softmax(x, 1.9)` do not compile.
  template <class T>
  requires std::same_as<T, bool> || std::floating_point<T> Dims(T)
  = delete;
  Dims(std::initializer_list<index_t> values) : Dims(std::span(values.begin(), values.size())) {}
  Dims(const std::vector<index_t>& values) : Dims(std::span(values)) {}
  explicit Dims(std::span<const index_t> values);

  /// `rank` entries, each `value`. **Errors**: more than kMaxRank entries.
  static Dims filled(index_t rank, index_t value);

  /// The number of entries.
  index_t size() const { return rank_; }
  /// Whether there are no entries.
  bool empty() const { return rank_ == 0; }
  /// Entry i, from 0 to size() - 1; unchecked.
  index_t operator[](index_t i) const { return values_[static_cast<std::size_t>(i)]; }
  index_t& operator[](index_t i) { return values_[static_cast<std::size_t>(i)]; }
  /// The last entry; unchecked.
  index_t back() const { return (*this)[rank_ - 1]; }
  index_t& back() { return (*this)[rank_ - 1]; }
  const index_t* begin() const { return values_.data(); }
  const index_t* end() const { return values_.data() + rank_; }

  /// Adds an entry at the end. **Errors**: more than kMaxRank entries.
  void push_back(index_t value) { insert(rank_, value); }
  /// Adds an entry before `position`, from 0 to size(); unchecked. **Errors**: more than kMaxRank
  /// entries.
  void insert(index_t position, index_t value);
  /// Removes the entry at `position`, from 0 to size() - 1; unchecked.
  void erase(index_t position);

  bool operator==(const Dims& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  index_t rank_ = 0;
  std::array<index_t, static_cast<std::size_t>(kMaxRank)> values_{};
};

using Shape = Dims;
using Strides = Dims;
using Axes = Dims;

/// Prints `(2, 3)`, `(3,)` or `()`, as Python does.
std::ostream& operator<<(std::ostream& out, const Dims& dims);

/// The number of elements; 1 for the shape (). Here and below, `op` is the name of the function in
/// errors.
/// **Errors**: a negative size, or a product (of the non-zero sizes) that overflows index_t.
index_t element_count(const char* op, const Shape& shape);

/// The strides of a C-contiguous (row-major) tensor of this shape.
Strides row_major_strides(const Shape& shape);

/// The shape to which both shapes broadcast: sizes are aligned at the right, and a size of 1
/// becomes the other size.
/// **Errors**: sizes that differ, neither of which is 1.
/// **Source**: numpy.broadcast_shapes.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);
/// Whether `shape` broadcasts to `target` without changing the sizes in `target`.
bool broadcasts_to(const Shape& shape, const Shape& target);

/// `axis` as a number from 0 to rank - 1: a negative axis counts from the end, where -1 is the
/// last.
/// **Errors**: an axis outside [-rank, rank).
index_t normalize_axis(const char* op, index_t axis, index_t rank);

/// normalize_axis on each of `axes`, sorted; an empty list means every axis.
/// **Errors**: an axis out of range or named twice.
Axes normalize_axes(const char* op, const Axes& axes, index_t rank);

/// The shape after a reduction of `axes`, as normalize_axes returns them: these axes are dropped,
/// or, with `keepdim`, kept with size 1.
Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim);

}  // namespace tessera
