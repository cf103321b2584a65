// Tests whether random numbers have the requested distribution.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/oracle.h"

namespace tessera::test {

/// The mean and the deviation from 0 of the elements.
struct Moments {
  double mean = 0, deviation = 0;

  explicit Moments(const Tensor& x) {
    const std::vector<double> values = array(x).values;
    for (const double value : values) {
      mean += value / static_cast<double>(values.size());
      deviation += value * value / static_cast<double>(values.size());
    }
    deviation = std::sqrt(deviation);
  }
};

/// The distance of `count` successes among n of probability q from their mean, in deviations.
inline double deviations(double count, double n, double q) {
  return (count - n * q) / std::sqrt(n * q * (1 - q));
}

/// Whether the values fill [-bound, bound) uniformly: by their range, mean and deviation.
inline ::testing::AssertionResult uniform_within(const Tensor& x, double bound) {
  const std::vector<double> values = array(x).values;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const Moments moments(x);
  const auto n = static_cast<double>(values.size());
  const double error = 5 * bound / std::sqrt(n), nearly = (1 - 20 / n) * bound;
  const bool in_range = *least >= -bound * (1 + 1e-6) && *most <= bound * (1 + 1e-6);
  const bool fills_it = *least <= -nearly && *most >= nearly;
  const bool is_even = std::fabs(moments.mean) <= error &&
                       std::fabs(moments.deviation - bound / std::sqrt(3.0)) <= error;
  return ::testing::AssertionResult(in_range && fills_it && is_even)
         << "[" << *least << ", " << *most << "], mean " << moments.mean << ", deviation "
         << moments.deviation << ", bound " << bound;
}

/// Whether the values are normal with mean 0: by mean, deviation, and share beyond 2 deviations.
inline ::testing::AssertionResult normal_with(const Tensor& x, double deviation) {
  const std::vector<double> values = array(x).values;
  const auto n = static_cast<double>(values.size());
  const auto beyond_two = std::count_if(
      values.begin(), values.end(), [&](double value) { return std::fabs(value) > 2 * deviation; });
  const Moments moments(x);
  const bool is_normal =
      std::fabs(moments.mean) <= 5 * deviation / std::sqrt(n) &&
      std::fabs(moments.deviation / deviation - 1) <= 5 / std::sqrt(2 * n) &&
      std::fabs(static_cast<double>(beyond_two) / n - 0.0455) <= 1 / std::sqrt(n);
  return ::testing::AssertionResult(is_normal)
         << "mean " << moments.mean << ", deviation " << moments.deviation << ", " << beyond_two
         << " of " << n << " beyond two of them, wanted " << deviation;
}

}  // namespace tessera::test
