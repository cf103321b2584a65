#include "tensor/ops/positions.h"

#include <cmath>

namespace tessera {

Tensor sinusoidal_positions(index_t positions, index_t width, DType dtype) {
  Tensor table = Tensor::empty({positions, width}, kFloat64);
  double* out = table.mutable_data<double>();
  for (index_t position = 0; position < positions; ++position) {
    for (index_t column = 0; column < width; ++column) {
      const double exponent = static_cast<double>(column - column % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, exponent);
      *out++ = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(dtype);
}

}  // namespace tessera
