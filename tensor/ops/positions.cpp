#include "tensor/ops/positions.h"

#include <cmath>

#include "tensor/error.h"

namespace tessera {

namespace {

/// D e(i).
index_t scaled_exponent(PositionExponent exponent, index_t column) {
  switch (exponent) {
    case PositionExponent::kVaswani:
      return 2 * (column / 2);
    case PositionExponent::kPairDoubled:
      return 4 * (column / 2);
    case PositionExponent::kColumnDoubled:
      return 2 * column;
  }
  __builtin_unreachable();
}

}  // namespace

Tensor sinusoidal_positions(index_t positions, index_t width, PositionExponent exponent,
                            DType dtype) {
  require_enum("sinusoidal_positions", "exponent", exponent, PositionExponent::kColumnDoubled);
  Tensor table = Tensor::empty({positions, width}, kFloat64);
  double* out = table.mutable_data<double>();
  for (index_t position = 0; position < positions; ++position) {
    for (index_t column = 0; column < width; ++column) {
      const double e =
          static_cast<double>(scaled_exponent(exponent, column)) / static_cast<double>(width);
      const double angle = static_cast<double>(position) / std::pow(10000.0, e);
      *out++ = column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table.to(dtype);
}

}  // namespace tessera
