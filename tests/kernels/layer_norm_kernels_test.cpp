#include <memory>

#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

class LayerNormKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormKernelsTest, each_isa(), isa_name);

template <class T>
struct Reference {
  std::vector<Wide<T>> y;
  Wide<T> mean = 0, rstd = 0;
};

template <class T>
Reference<T> reference(const std::vector<T>& x, const std::vector<T>& weight,
                       const std::vector<T>& bias, T eps, bool centres = true) {
  Reference<T> r;
  const auto n = static_cast<Wide<T>>(x.size());
  for (const T value : x) r.mean += centres ? static_cast<Wide<T>>(value) / n : 0;
  Wide<T> variance = 0;
  for (const T value : x) {
    variance += (static_cast<Wide<T>>(value) - r.mean) * (static_cast<Wide<T>>(value) - r.mean) / n;
  }
  r.rstd = 1 / std::sqrt(variance + static_cast<Wide<T>>(eps));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Wide<T> normal = (static_cast<Wide<T>>(x[i]) - r.mean) * r.rstd;
    r.y.push_back(normal * static_cast<Wide<T>>(weight[i]) + static_cast<Wide<T>>(bias[i]));
  }
  return r;
}

template <class T>
constexpr T kEps = static_cast<T>(1e-5);

template <class T>
void layer_norm(const kernels::LayerNormArgs<T>& args) {
  kernels::table<T>().layer_norm(args);
}

// Three rows with gaps, with or without weight and bias, and the extra outputs.
template <class T>
void expect_rows(index_t n, bool affine, bool centres) {
  SCOPED_TRACE("n " + std::to_string(n) + ", affine " + std::to_string(affine) + ", centres " +
               std::to_string(centres));
  constexpr index_t kRows = 3;
  const double tolerance = 30 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const index_t x_row = n + 1;
  const index_t y_row = n + 2;
  const std::vector<T> values = random_values<T>((kRows - 1) * x_row + n, 41, -3, 5);
  Guarded<T> x(values, n % 5);
  const std::vector<T> weights = random_values<T>(n, 43, 0.5, 2);
  const std::vector<T> biases = random_values<T>(n, 44);
  Guarded<T> weight(weights, 1);
  Guarded<T> bias(biases, 2);
  Guarded<T> y((kRows - 1) * y_row + n, n % 3), mean(kRows, 1), rstd(kRows, 2);
  kernels::LayerNormArgs<T> args = {
      .rows = kRows, .n = n, .centres = centres, .x = x.data(), .x_row = x_row};
  args.weight = affine ? weight.data() : nullptr;
  args.bias = affine ? bias.data() : nullptr;
  args.eps = kEps<T>;
  args.y = y.data();
  args.y_row = y_row;
  args.mean = mean.data();
  args.rstd = rstd.data();
  layer_norm(args);

  for (index_t row = 0; row < kRows; ++row) {
    const std::vector<T> in(x.data() + row * x_row, x.data() + row * x_row + n);
    const std::vector<T> ones(in.size(), 1), zeros(in.size(), 0);
    const auto want =
        reference(in, affine ? weights : ones, affine ? biases : zeros, kEps<T>, centres);
    const T* out = y.data() + row * y_row;
    ASSERT_TRUE(near(std::vector<T>(out, out + n), want.y, 4, tolerance));
    ASSERT_TRUE(near<T>({mean[row]}, {want.mean}, 4, tolerance));
    ASSERT_TRUE(near<T>({rstd[row]}, {want.rstd}, 30));
  }
  ASSERT_TRUE(y.intact() && mean.intact() && rstd.intact());

  // The additional outputs for the backward pass do not change y.
  const std::vector<T> before = y.values();
  args.mean = args.rstd = nullptr;
  layer_norm(args);
  ASSERT_TRUE(same_bits(y.values(), before));
}

TEST_P(LayerNormKernelsTest, Rows) {
  for (const index_t n : {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 511, 513, 768, 1100}) {
    for (const bool affine : {false, true}) {
      for (const bool centres : {true, false}) {
        for_floats([&]<class T>(T) { expect_rows<T>(n, affine, centres); });
      }
    }
  }
}

// Rows are normalised in groups, and large outputs bypass the caches; the bits of a row do not
// depend on this.
template <class T>
void expect_equal_alone(index_t rows, index_t n, index_t y_row, bool centres = true) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(n));
  const std::vector<T> x = random_values<T>(rows * n, 49, -3, 5);
  const std::vector<T> weight = random_values<T>(n, 50), bias = random_values<T>(n, 51);
  std::vector<T> out(static_cast<std::size_t>(rows * y_row + 64));
  void* aligned = out.data();
  std::size_t space = out.size() * sizeof(T);
  T* y = static_cast<T*>(std::align(64, out.size(), aligned, space));
  kernels::LayerNormArgs<T> args = {
      .rows = rows, .n = n, .centres = centres, .x = x.data(), .x_row = n};
  args.weight = weight.data();
  args.bias = bias.data();
  args.eps = kEps<T>;
  args.y = y;
  args.y_row = y_row;
  layer_norm(args);
  std::vector<T> alone(static_cast<std::size_t>(n));
  args.rows = 1;
  args.y = alone.data();
  for (index_t row = 0; row < rows; ++row) {
    args.x = x.data() + row * n;
    layer_norm(args);
    const T* got = y + row * y_row;
    ASSERT_TRUE(same_bits(std::vector<T>(got, got + n), alone)) << "row " << row;
  }
}

TEST_P(LayerNormKernelsTest, ARowDoesNotDependOnItsCompany) {
  for (const index_t n : {1, 7, 16, 37, 128, 515}) {
    for (index_t rows = 1; rows <= 9; ++rows) {
      expect_equal_alone<float>(rows, n, n);
      expect_equal_alone<double>(rows, n, n + 1);
      expect_equal_alone<float>(rows, n, n, false);
    }
  }
  // Large and aligned, so that y is written past the caches.
  for (const index_t n : {100, 400}) {
    const index_t row = (n + 15) / 16 * 16;
    expect_equal_alone<float>((index_t{2} << 20) / n + 2, n, row);
    expect_equal_alone<double>((index_t{1} << 20) / n + 2, n, row);
    expect_equal_alone<float>((index_t{2} << 20) / n + 2, n, row, false);
  }
}

template <class T>
std::vector<T> normalised(std::vector<T> x, const std::vector<T>& bias, T eps) {
  const auto n = static_cast<index_t>(x.size());
  kernels::LayerNormArgs<T> args = {.rows = 1, .n = n, .x = x.data(), .x_row = n};
  args.bias = bias.data();
  args.eps = eps;
  args.y = x.data();  // in place
  args.y_row = n;
  layer_norm(args);
  return x;
}

TEST_P(LayerNormKernelsTest, ConstantRowGivesExactlyTheBias) {
  for (const index_t n : {1, 2, 7, 33, 100, 768}) {
    const std::vector<float> bias = random_values<float>(n, 45);
    for (const float value : {0.1F, 1e6F, -3.3e-7F}) {
      const std::vector<float> x(static_cast<std::size_t>(n), value);
      EXPECT_TRUE(same_bits(normalised(x, bias, 1e-12F), bias)) << "n " << n << ", " << value;
    }
  }
}

TEST_P(LayerNormKernelsTest, MeanFarFromZero) {
  std::vector<float> x = random_values<float>(768, 46, -2, 2);
  for (float& value : x) value += 1e6F;
  const std::vector<float> ones(768, 1.0F), zeros(768, 0.0F);
  const auto want = reference(x, ones, zeros, kEps<float>);
  EXPECT_TRUE(near(normalised(x, zeros, kEps<float>), want.y, 4, 2e-6));
}

TEST_P(LayerNormKernelsTest, AnOutlierInFrontDoesNoHarm) {
  std::vector<float> x = random_values<float>(768, 47, -2, 2);
  x[0] = 1e4F;
  const std::vector<float> ones(768, 1.0F), zeros(768, 0.0F);
  const auto want = reference(x, ones, zeros, kEps<float>);
  EXPECT_TRUE(near(normalised(x, zeros, kEps<float>), want.y, 4, 4e-6));
}

TEST_P(LayerNormKernelsTest, NoRowsAndNoColumns) {
  kernels::LayerNormArgs<float> args = {.rows = 0, .n = 5, .x = nullptr, .x_row = 5};
  layer_norm(args);
  args.rows = 5;
  args.n = 0;
  layer_norm(args);
}

}  // namespace
}  // namespace tessera::test
