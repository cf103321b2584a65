// One benchmark: work with a known cost that checks its own result before it is timed.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "tessera/tensor/tensor.h"

namespace tessera::bench {

/// The least work of one call: floating point operations, and bytes read and written if each is
/// read once. 0: not meaningful.
struct Cost {
  double flops = 0;
  double bytes = 0;
  DType dtype = kFloat32;  // of the operations; the peak depends on it
};

/// The call to be timed, and the largest error of its result against the definition in double,
/// relative to the error allowed for rounding: at most 1 is correct.
struct Case {
  std::function<Tensor()> run;
  std::function<double(const Tensor& result)> error;
  std::string label = {};  // printed after the figures
};

/// The elements of a float32 or float64 tensor as double, by their position in memory.
class Elements {
 public:
  explicit Elements(const Tensor& x)
      : single_(x.dtype() == kFloat32 ? x.data<float>() : nullptr),
        twice_(x.dtype() == kFloat64 ? x.data<double>() : nullptr) {}
  double operator[](index_t place) const {
    return twice_ != nullptr ? twice_[place] : static_cast<double>(single_[place]);
  }

 private:
  const float* single_;
  const double* twice_;
};

/// The largest |result - expected| / tolerance, over the elements that `expected(index)` is
/// computed for: `samples` of them, spread over the result. The tolerance is that of float32, times
/// 1e-8 for a result in float64.
inline double sampled_error(const Tensor& result, index_t samples,
                            const std::function<double(index_t)>& expected, double tolerance) {
  const Tensor flat = result.contiguous().flatten();
  const Elements values(flat);
  if (flat.dtype() == kFloat64) tolerance *= 1e-8;
  const index_t step = std::max<index_t>(flat.count() / samples, 1) | 1;  // odd: in all columns
  double worst = 0;
  for (index_t i = 0; i < flat.count(); i += step) {
    const double error = std::abs(values[i] - expected(i));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error / tolerance);
  }
  return worst;
}

/// The same for all elements; `expected` is in float64.
inline double error_of(const Tensor& result, const Tensor& expected, double tolerance) {
  const Tensor exact = expected.contiguous();
  const auto element = [&](index_t e) { return exact.data<double>()[e]; };
  return sampled_error(result, exact.count(), element, tolerance);
}

/// The bytes of this number of elements.
inline double bytes_of(double elements, DType dtype = kFloat32) {
  return elements * static_cast<double>(item_size(dtype));
}

// One function per subject registers its kinds, under the names used in comparisons with other
// libraries.
void register_matmul();
void register_linear();
void register_attention();
void register_attention_backward();
void register_rows();
void register_training();
void register_encoder();
void register_matmul_ladder();
void register_attention_ladder();

}  // namespace tessera::bench
