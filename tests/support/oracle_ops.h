// The naive definitions of the larger ops: products, softmax and layer normalisation. As in
// oracle.h, double precision and indices only.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tests/support/oracle.h"

namespace tessera::test {

/// The sum of the product of the operands over every label that `output` lacks; `inputs` name the
/// axes by letters; an axis of size 1 stretches.
inline Array naive_einsum(const std::vector<std::string>& inputs, const std::string& output,
                          const std::vector<Array>& operands) {
  std::map<char, index_t> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t axis = 0; axis < inputs[i].size(); ++axis) {
      index_t& size = sizes.try_emplace(inputs[i][axis], 1).first->second;
      if (size == 1) size = operands[i].shape[static_cast<index_t>(axis)];
    }
  }
  Shape shape;
  for (char label : output) shape.push_back(sizes[label]);
  std::string summed;
  Shape summed_shape;
  for (const auto& [label, size] : sizes) {
    if (output.find(label) != std::string::npos) continue;
    summed += label;
    summed_shape.push_back(size);
  }
  return build(shape, [&](const Dims& index) {
    std::map<char, index_t> at;
    for (std::size_t i = 0; i < output.size(); ++i) at[output[i]] = index[static_cast<index_t>(i)];
    double sum = 0;
    for_each_index(summed_shape, [&](const Dims& inner) {
      for (std::size_t i = 0; i < summed.size(); ++i)
        at[summed[i]] = inner[static_cast<index_t>(i)];
      double product = 1;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        Dims own;
        for (char label : inputs[i]) {
          own.push_back(operands[i].shape[own.size()] == 1 ? 0 : at[label]);
        }
        product *= operands[i].at(own);
      }
      sum += product;
    });
    return sum;
  });
}

/// NumPy's matmul: batches of matrices, a vector is a row on the left, a column on the right.
inline Array naive_matmul(Array a, Array b) {
  const bool drop_row = a.shape.size() == 1;
  const bool drop_column = b.shape.size() == 1;
  if (drop_row) a.shape.insert(0, 1);
  if (drop_column) b.shape.insert(1, 1);
  const index_t a_rank = a.shape.size();
  const index_t b_rank = b.shape.size();
  const std::string letters = "hgfedc";  // leading axes, aligned at the right
  const auto leading = [&](index_t rank) {
    return letters.substr(letters.size() - static_cast<std::size_t>(rank - 2));
  };
  Array out = naive_einsum({leading(a_rank) + "mk", leading(b_rank) + "kn"},
                           leading(std::max(a_rank, b_rank)) + "mn", {a, b});
  if (drop_column) out.shape.erase(out.shape.size() - 1);
  if (drop_row) out.shape.erase(out.shape.size() - (drop_column ? 1 : 2));
  return out;
}

inline double largest(const std::vector<double>& values) {
  double result = -std::numeric_limits<double>::infinity();
  for (double value : values) result = std::max(result, value);
  return result;
}

inline double total(const std::vector<double>& values) {
  double result = 0;
  for (double value : values) result += value;
  return result;
}

/// log(sum of exp(x)) over positive `axes`; an empty list means all.
inline Array naive_logsumexp(const Array& x, const Axes& axes, bool keepdim) {
  return reduce(x, axes, keepdim, [](const std::vector<double>& values) {
    const double high = largest(values);
    const double shift = std::isinf(high) ? 0 : high;
    double sum = 0;
    for (double value : values) sum += std::exp(value - shift);
    return std::log(sum) + shift;
  });
}

inline Array naive_softmax(const Array& x, const Axes& axes) {
  const Array high = reduce(x, axes, true, largest);
  const Array powers = map(x, high, [](double value, double h) { return std::exp(value - h); });
  return map(powers, reduce(powers, axes, true, total), [](double p, double s) { return p / s; });
}

inline Array naive_log_softmax(const Array& x, const Axes& axes) {
  return map(x, naive_logsumexp(x, axes, true), [](double value, double l) { return value - l; });
}

/// (x - mean) / sqrt(variance + eps) over positive `axes`, without weight and bias.
inline Array naive_normalize(const Array& x, const Axes& axes, double eps) {
  // Wider than double: the mean of a constant row must be that constant.
  const auto mean = [](const std::vector<double>& values) {
    long double sum = 0;
    for (double value : values) sum += value;
    return static_cast<double>(sum / static_cast<long double>(values.size()));
  };
  const Array centered = map(x, reduce(x, axes, true, mean), std::minus<>());
  const Array variance =
      reduce(map(centered, [](double value) { return value * value; }), axes, true, mean);
  return map(centered, variance, [&](double d, double v) { return d / std::sqrt(v + eps); });
}

/// x / sqrt(mean(x^2) + eps), the mean over positive `axes`, without weight.
inline Array naive_rms_normalize(const Array& x, const Axes& axes, double eps) {
  const Array squares = reduce(x, axes, true, [](const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += value * value;
    return sum / static_cast<double>(values.size());
  });
  return map(x, squares, [&](double value, double s) { return value / std::sqrt(s + eps); });
}

}  // namespace tessera::test
