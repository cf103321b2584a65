#include "bench/case.h"

#include <algorithm>
#include <cmath>

namespace tessera::bench {

double sampled_error(const Tensor& result, index_t samples,
                     const std::function<double(index_t)>& expected, double tolerance) {
  const Tensor flat = result.contiguous().flatten();
  const Elements values(flat);
  if (flat.dtype() == kFloat64) tolerance *= 1e-8;
  const index_t step = std::max<index_t>(flat.count() / samples, 1) | 1;  // odd: reaches all
                                                                          // columns
  double worst = 0;
  for (index_t i = 0; i < flat.count(); i += step) {
    const double error = std::abs(values[i] - expected(i));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error / tolerance);
  }
  return worst;
}

}  // namespace tessera::bench
