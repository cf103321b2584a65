// softmax, layer norm and RMS norm over rows.
#include <array>
#include <cmath>

#include "bench/case.h"
#include "nn/layer_norm.h"
#include "nn/rms_norm.h"
#include "tensor/error.h"
#include "tensor/ops/softmax.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

constexpr index_t kSamples = 500;
constexpr double kTolerance = 1e-5;

Case softmax_case(index_t rows, index_t columns) {
  const Tensor x = uniform({rows, columns}, -3, 3);
  return {
      [=] { return softmax(x, -1); },
      [=](const Tensor& y) {
        const auto expected = [&](index_t e) {
          const float* row = x.data<float>() + e / columns * columns;
          double sum = 0;
          for (index_t j = 0; j < columns; ++j) sum += std::exp(static_cast<double>(row[j]));
          return std::exp(static_cast<double>(row[e % columns])) / sum;
        };
        return sampled_error(y, kSamples, expected, kTolerance);
      },
  };
}

Case layer_norm_case(index_t rows, index_t columns) {
  const Tensor x = uniform({rows, columns}, -3, 3);
  const nn::LayerNorm norm(columns);
  return {
      [=] { return norm(x); },
      [=](const Tensor& y) {
        const auto expected = [&](index_t e) {
          const float* row = x.data<float>() + e / columns * columns;
          const auto n = static_cast<double>(columns);
          double mean = 0;
          for (index_t j = 0; j < columns; ++j) mean += static_cast<double>(row[j]) / n;
          double variance = 0;
          for (index_t j = 0; j < columns; ++j) {
            const double deviation = static_cast<double>(row[j]) - mean;
            variance += deviation * deviation / n;
          }
          return (static_cast<double>(row[e % columns]) - mean) / std::sqrt(variance + norm.eps);
        };
        return sampled_error(y, kSamples, expected, kTolerance);
      },
  };
}

Case rms_norm_case(index_t rows, index_t columns) {
  const Tensor x = uniform({rows, columns}, -3, 3);
  const nn::RmsNorm norm(columns);
  return {
      [=] { return norm(x); },
      [=](const Tensor& y) {
        const auto expected = [&](index_t e) {
          const float* row = x.data<float>() + e / columns * columns;
          double square = 0;
          for (index_t j = 0; j < columns; ++j) {
            square += static_cast<double>(row[j]) * static_cast<double>(row[j]);
          }
          return static_cast<double>(row[e % columns]) /
                 std::sqrt(square / static_cast<double>(columns) + norm.eps);
        };
        return sampled_error(y, kSamples, expected, kTolerance);
      },
  };
}

}  // namespace

void register_rows() {
  constexpr std::array<std::array<index_t, 2>, 3> kSizes = {
      {{1536, 128}, {49152, 128}, {49152, 512}}};
  for (const auto& [rows, columns] : kSizes) {
    const Cost cost = {.bytes = 8.0 * static_cast<double>(rows * columns)};
    register_case(format("softmax/rows:", rows, "/cols:", columns), cost,
                  [=, rows = rows, columns = columns] { return softmax_case(rows, columns); });
    register_case(format("layer_norm/rows:", rows, "/cols:", columns), cost,
                  [=, rows = rows, columns = columns] { return layer_norm_case(rows, columns); });
    register_case(format("rms_norm/rows:", rows, "/cols:", columns), cost,
                  [=, rows = rows, columns = columns] { return rms_norm_case(rows, columns); });
  }
}

}  // namespace tessera::bench
