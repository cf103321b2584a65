// matmul and linear.
#include <array>
#include <cmath>

#include "bench/case.h"
#include "nn/linear.h"
#include "tensor/error.h"
#include "tensor/ops/gated_linear.h"
#include "tensor/ops/matmul.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

/// sum_k a[i, k] b[k, j] in double.
double dot(const Tensor& a, const Tensor& b, index_t i, index_t j) {
  const float* x = a.data<float>() + i * a.strides()[0];
  const float* y = b.data<float>() + j * b.strides()[1];
  double sum = 0;
  for (index_t k = 0; k < a.size(1); ++k) {
    sum += static_cast<double>(x[k * a.strides()[1]]) * static_cast<double>(y[k * b.strides()[0]]);
  }
  return sum;
}

/// What rounding may do to a sum of k products of numbers up to 1: a random walk of k steps.
double tolerance(index_t k) {
  return 1e-6 * std::sqrt(static_cast<double>(k) + 1) * 4;
}

constexpr index_t kSamples = 1000;

Case matmul_case(index_t m, index_t n, index_t k) {
  const Tensor a = uniform({m, k}, -1, 1);
  const Tensor b = uniform({k, n}, -1, 1);
  return {
      [=] { return matmul(a, b); },
      [=](const Tensor& c) {
        return sampled_error(
            c, kSamples, [&](index_t e) { return dot(a, b, e / n, e % n); }, tolerance(k));
      },
  };
}

double gelu_in_double(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

Case linear_case(index_t m, index_t k, index_t n, bool gelu) {
  const Tensor x = uniform({m, k}, -1, 1);
  const nn::Linear layer(k, n);
  return {
      [=] { return layer(x, gelu ? Activation::kGelu : Activation::kNone); },
      [=](const Tensor& y) {
        return sampled_error(
            y, kSamples,
            [&](index_t e) {
              const double sum =
                  dot(x, layer.weight.t(), e / n, e % n) + layer.bias.item_at({e % n});
              return gelu ? gelu_in_double(sum) : sum;
            },
            tolerance(1));
      },
  };
}

/// SwiGLU or GeGLU of a layer k -> 2 n; the product is that of linear k -> 2 n.
Case gated_case(index_t m, index_t k, index_t n, Activation activation) {
  const Tensor x = uniform({m, k}, -1, 1);
  const nn::Linear layer(k, 2 * n);
  return {
      [=] { return gated_linear(x, layer.weight, layer.bias, activation, &layer.packed); },
      [=](const Tensor& y) {
        return sampled_error(
            y, kSamples,
            [&](index_t e) {
              const auto half = [&](index_t j) {
                return dot(x, layer.weight.t(), e / n, j) + layer.bias.item_at({j});
              };
              const double u = half(e % n);
              const double active =
                  activation == Activation::kGelu ? gelu_in_double(u) : u / (1 + std::exp(-u));
              return active * half(n + e % n);
            },
            tolerance(1));
      },
  };
}

}  // namespace

void register_matmul() {
  constexpr std::array<std::array<index_t, 3>, 16> kSizes = {{
      {64, 64, 64},
      {128, 128, 128},
      {256, 256, 256},
      {512, 512, 512},
      {1000, 1000, 1000},
      {1024, 1024, 1024},
      {2048, 2048, 2048},
      {1, 768, 768},
      {8, 768, 768},
      {17, 768, 768},
      {128, 768, 768},
      {128, 3072, 768},
      {128, 768, 3072},
      {512, 768, 768},
      {2048, 64, 2048},
      {2048, 2048, 64},
  }};
  for (const auto& [m, n, k] : kSizes) {
    register_case(format("matmul/M:", m, "/N:", n, "/K:", k),
                  {.flops = 2.0 * static_cast<double>(m * n * k)},
                  [=, m = m, n = n, k = k] { return matmul_case(m, n, k); });
  }
}

void register_linear() {
  struct Size {
    index_t k, n;
    bool gelu;
  };
  constexpr std::array<Size, 5> kSizes = {{{128, 512, true},
                                           {384, 1536, true},
                                           {768, 768, false},
                                           {768, 3072, true},
                                           {3072, 768, false}}};
  for (const auto& [k, n, gelu] : kSizes) {
    for (const index_t m : {1, 8, 128, 1024}) {
      register_case(format("linear/M:", m, "/K:", k, "/N:", n, "/gelu:", gelu ? 1 : 0),
                    {.flops = 2.0 * static_cast<double>(m * n * k)},
                    [=, k = k, n = n, gelu = gelu] { return linear_case(m, k, n, gelu); });
    }
  }
  for (const index_t m : {1, 8, 128, 1024}) {
    const Cost cost = {.flops = 2.0 * static_cast<double>(m * 768 * 4096)};
    register_case(format("linear/M:", m, "/K:768/N:4096/gelu:1"), cost,
                  [=] { return linear_case(m, 768, 4096, true); });
    register_case(format("gated/M:", m, "/K:768/N:4096/gelu:1"), cost,
                  [=] { return gated_case(m, 768, 2048, Activation::kGelu); });
    register_case(format("gated/M:", m, "/K:768/N:4096/silu:1"), cost,
                  [=] { return gated_case(m, 768, 2048, Activation::kSilu); });
  }
  // No cliff: neighbouring widths cost alike.
  for (index_t width = 32; width <= 128; ++width) {
    register_case(format("linear_width/M:512/K:", width, "/N:", width),
                  {.flops = 2.0 * static_cast<double>(512 * width * width)},
                  [=] { return linear_case(512, width, width, false); });
  }
}

}  // namespace tessera::bench
