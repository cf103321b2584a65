// Linear layers, plain, gated and in int8; the weights are packed before the measurement.
#include <array>
#include <cmath>

#include "bench/case.h"
#include "bench/oracles.h"
#include "bench/registry.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/detail/product.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

/// A layer k -> n on m rows.
struct Layer {
  index_t m, k, n;
  Activation activation;
  DType dtype = kFloat32;

  /// The product, the bias, and `saved` numbers of a row that are not written.
  Cost cost(index_t saved = 0) const {
    Cost cost = product_cost(m, n, k, 1, dtype);
    cost.bytes += bytes_of(static_cast<double>(n - m * saved), dtype);
    return cost;
  }
  nn::Linear make() const {
    nn::Linear layer(k, n);
    nn::convert(layer, dtype);
    return layer;
  }
};

double in_double(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

constexpr index_t kSamples = 1000;

/// Row i of x times row j of the weight, and the bias.
double affine(const Tensor& x, const nn::Linear& layer, index_t i, index_t j) {
  return dot(x, layer.weight->t(), i, j) + layer.bias.item_at({j});
}

Case linear_case(const Layer& s) {
  const Tensor x = uniform(-1, 1, {s.m, s.k}, s.dtype);
  const nn::Linear layer = s.make();
  const auto error = [=](const Tensor& y) {
    const auto expected = [&](index_t e) {
      return in_double(s.activation, affine(x, layer, e / s.n, e % s.n));
    };
    return sampled_error(y, kSamples, expected, product_tolerance(1));
  };
  return {[=] { return layer(x, s.activation); }, error};
}

/// A linear layer with its weight in int8. Each number changes by at most half a step: those of the
/// weight by largest / 254, those of x, between -1 and 1, by 2 / 510. A sum of k such errors is a
/// random walk.
Case int8_case(const Layer& s) {
  const Tensor x = uniform(-1, 1, {s.m, s.k}, s.dtype);
  const nn::Linear layer = s.make();
  const Weight weight = layer.weight.prepacked(WeightFormat::kInt8);
  const double largest = max(abs(*layer.weight)).item<float>();
  const double tolerance = largest * std::sqrt(static_cast<double>(s.k)) / 64;
  const auto error = [=](const Tensor& y) {
    const auto expected = [&](index_t e) { return affine(x, layer, e / s.n, e % s.n); };
    return sampled_error(y, kSamples, expected, tolerance);
  };
  return {[=, bias = layer.bias] { return linear(x, weight, bias); }, error};
}

/// SwiGLU or GeGLU; the product is that of a linear layer k -> n, the output has half the width.
Case gated_case(const Layer& s) {
  const Tensor x = uniform(-1, 1, {s.m, s.k}, s.dtype);
  const nn::Linear layer = s.make();
  const Weight weight = Weight::gated(layer.weight);
  const index_t half = s.n / 2;
  const auto error = [=](const Tensor& y) {
    const auto expected = [&](index_t e) {
      const index_t i = e / half;
      const index_t j = e % half;
      return in_double(s.activation, affine(x, layer, i, j)) * affine(x, layer, i, half + j);
    };
    return sampled_error(y, kSamples, expected, product_tolerance(1));
  };
  return {[=, bias = layer.bias] { return gated_linear(x, weight, bias, s.activation); }, error};
}

Work linear_work(Parameters& p) {
  const bool gelu = p.flag("gelu");
  const Layer s = {p.size("M"), p.size("K"), p.size("N"),
                   gelu ? Activation::kGelu : Activation::kNone, p.dtype()};
  return {s.cost(), [s] { return linear_case(s); }};
}

/// FLOPs are operations on integers here.
Work int8_work(Parameters& p) {
  const Layer s = {p.size("M"), p.size("K"), p.size("N"), Activation::kNone};
  require(s.n >= detail::kFewestInt8Rows && s.k <= kernels::kInt8Depth, "tessera_bench", "'",
          p.name(), "': N must be at least ", detail::kFewestInt8Rows, " and K at most ",
          kernels::kInt8Depth, ", got N ", s.n, " and K ", s.k);
  Cost cost = s.cost();
  cost.bytes -= 3 * static_cast<double>(s.k) * static_cast<double>(s.n);  // a weight has one byte
  return {cost, [s] { return int8_case(s); }};
}

Work gated_work(Parameters& p) {
  const bool gelu = p.flag("gelu");
  const bool silu = p.flag("silu");
  const Layer s = {p.size("M"), p.size("K"), p.size("N", {}, 2),
                   gelu ? Activation::kGelu : Activation::kSilu, p.dtype()};
  require(gelu != silu, "tessera_bench", "'", p.name(), "': either gelu or silu must be 1, got ",
          gelu ? "both" : "neither");
  require(s.n % 2 == 0, "tessera_bench", "'", p.name(), "': N must be even, got ", s.n);
  return {s.cost(s.n / 2), [s] { return gated_case(s); }};
}

}  // namespace

void register_linear() {
  struct Size {
    index_t k, n, gelu;
  };
  constexpr std::array<Size, 6> kSizes = {{{128, 512, 1},
                                           {384, 1536, 1},
                                           {768, 768, 0},
                                           {768, 3072, 1},
                                           {3072, 768, 0},
                                           {768, 4096, 1}}};
  Kind linear = {.name = "linear",
                 .pattern = "linear/M:/K:/N:[/gelu:1][/dtype:float64]",
                 .what = "x W^T + b, with GELU",
                 .work = linear_work};
  Kind gated = {.name = "gated",
                .pattern = "gated/M:/K:/N:/gelu:1 or /silu:1[/dtype:float64]",
                .what = "a gated layer of N rows of weight, N / 2 columns of output",
                .work = gated_work};
  Kind int8 = {.name = "linear_int8",
               .pattern = "linear_int8/M:/K:/N:",
               .what = "x W^T + b, the weight in int8, x rounded inside the call",
               .work = int8_work};
  constexpr std::array<index_t, 4> kRows = {1, 8, 128, 1024};
  for (const auto& [k, n, gelu] : kSizes) {
    for (const index_t m : kRows) {
      linear.names.push_back(str_cat("linear/M:", m, "/K:", k, "/N:", n, "/gelu:", gelu));
      int8.names.push_back(str_cat("linear_int8/M:", m, "/K:", k, "/N:", n));
    }
  }
  for (const index_t m : kRows) {
    gated.names.push_back(str_cat("gated/M:", m, "/K:768/N:4096/gelu:1"));
    gated.names.push_back(str_cat("gated/M:", m, "/K:768/N:4096/silu:1"));
  }
  register_kind(std::move(linear));
  register_kind(std::move(gated));
  register_kind(std::move(int8));
}

}  // namespace tessera::bench
