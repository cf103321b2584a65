// A matrix for lessons and exercises that use plain loops.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::examples {

/// A matrix of float64 that owns its elements. `m(i, j)` is row i, column j.
///
///     Matrix m = {{1, 2, 3}, {4, 5, 6}};
///     for (index_t i = 0; i < m.rows(); ++i) m(i, 0) *= 2;
///
/// **Errors**: rows of different lengths; an element outside it.
class Matrix {
 public:
  Matrix() = default;
  Matrix(index_t rows, index_t columns, double value = 0)
      : rows_(rows), columns_(columns), values_(static_cast<std::size_t>(rows * columns), value) {}
  Matrix(index_t rows, index_t columns, std::vector<double> values)
      : rows_(rows), columns_(columns), values_(std::move(values)) {
    if (std::ssize(values_) != rows * columns) {
      throw std::invalid_argument("Matrix: values must be " + std::to_string(rows * columns) +
                                  " numbers for the shape " + shape() + ", got " +
                                  std::to_string(values_.size()));
    }
  }
  Matrix(std::initializer_list<std::initializer_list<double>> rows)
      : rows_(std::ssize(rows)), columns_(rows.size() == 0 ? 0 : std::ssize(*rows.begin())) {
    for (const auto& row : rows) {
      if (std::ssize(row) != columns_) {
        throw std::invalid_argument("Matrix: rows must have " + std::to_string(columns_) +
                                    " numbers, as the first has, got " +
                                    std::to_string(row.size()));
      }
      values_.insert(values_.end(), row);
    }
  }

  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  /// The elements, row after row.
  const std::vector<double>& values() const { return values_; }
  std::string shape() const {
    return "(" + std::to_string(rows_) + ", " + std::to_string(columns_) + ")";
  }

  double& operator()(index_t i, index_t j) { return values_[place(i, j)]; }
  double operator()(index_t i, index_t j) const { return values_[place(i, j)]; }

 private:
  std::size_t place(index_t i, index_t j) const {
    if (i < 0 || i >= rows_ || j < 0 || j >= columns_) {
      throw std::invalid_argument("Matrix: element must be inside the shape " + shape() +
                                  ", got (" + std::to_string(i) + ", " + std::to_string(j) + ")");
    }
    return static_cast<std::size_t>(i * columns_ + j);
  }

  index_t rows_ = 0;
  index_t columns_ = 0;
  std::vector<double> values_;
};

}  // namespace tessera::examples
