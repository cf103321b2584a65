// A matrix for lessons and exercises that use plain loops.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/tensor.h>

namespace tessera::examples {

/// A matrix of float64 that owns its elements. `m(i, j)` is row i, column j.
///
///     Matrix m = {{1, 2, 3}, {4, 5, 6}};
///     for (index_t i = 0; i < m.rows(); ++i) m(i, 0) *= 2;
///
/// A tensor becomes a matrix by assignment: all its axes except the last one are merged into rows.
/// A matrix becomes a tensor in the same way.
/// **Errors**: rows of different lengths; an element outside it; a tensor whose last axis is empty.
class Matrix {
 public:
  Matrix() = default;
  Matrix(index_t rows, index_t columns, double value = 0)
      : rows_(rows), columns_(columns), values_(static_cast<std::size_t>(rows * columns), value) {}
  Matrix(index_t rows, index_t columns, std::vector<double> values)
      : rows_(rows), columns_(columns), values_(std::move(values)) {
    require(std::ssize(values_) == rows * columns, "Matrix", "values must be ", rows * columns,
            " numbers for the shape ", shape(), ", got ", values_.size());
  }
  Matrix(std::initializer_list<std::initializer_list<double>> rows)
      : rows_(std::ssize(rows)), columns_(rows.size() == 0 ? 0 : std::ssize(*rows.begin())) {
    for (const auto& row : rows) {
      require(std::ssize(row) == columns_, "Matrix", "rows must have ", columns_,
              " numbers, as the first has, got ", row.size());
      values_.insert(values_.end(), row);
    }
  }
  Matrix(const Tensor& x)
      : Matrix(x.count() / columns_of(x), x.size(-1), x.to(kFloat64).to_vector<double>()) {}
  operator Tensor() const { return from_vector(values_, {rows_, columns_}); }

  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  /// The elements, row after row.
  const std::vector<double>& values() const { return values_; }
  std::string shape() const { return str_cat("(", rows_, ", ", columns_, ")"); }

  double& operator()(index_t i, index_t j) { return values_[place(i, j)]; }
  double operator()(index_t i, index_t j) const { return values_[place(i, j)]; }

 private:
  static index_t columns_of(const Tensor& x) {
    require(x.size(-1) > 0, "Matrix", "the last axis must have at least 1 element, got 0");
    return x.size(-1);
  }
  std::size_t place(index_t i, index_t j) const {
    if (i < 0 || i >= rows_ || j < 0 || j >= columns_) {
      fail("Matrix", "element must be inside the shape ", shape(), ", got (", i, ", ", j, ")");
    }
    return static_cast<std::size_t>(i * columns_ + j);
  }

  index_t rows_ = 0;
  index_t columns_ = 0;
  std::vector<double> values_;
};

/// The matrix with the elements f(i, j).
template <class Function>
Matrix matrix_of(index_t rows, index_t columns, const Function& f) {
  Matrix m(rows, columns);
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < columns; ++j) m(i, j) = f(i, j);
  }
  return m;
}

}  // namespace tessera::examples
