// The kernels of backward passes over rows against their definitions in a wider type, on every
// instruction set: ragged sizes, misaligned and strided rows, guard bytes on both sides.
#include <array>

#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

class GradientKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, GradientKernelsTest, each_isa(), isa_name);

constexpr std::array<index_t, 16> kGradientLengths = {1,  2,  3,  5,  7,   8,   15,  16,
                                                      17, 31, 33, 65, 100, 511, 513, 1100};

template <class T>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// `rows` of n elements, `gap` apart, as a wider type.
template <class T>
std::vector<std::vector<Wide<T>>> rows_of(const T* x, index_t rows, index_t n, index_t step) {
  std::vector<std::vector<Wide<T>>> result;
  for (index_t r = 0; r < rows; ++r) {
    result.emplace_back(x + r * step, x + r * step + n);
  }
  return result;
}

template <class T>
void expect_softmax_gradients(index_t n) {
  SCOPED_TRACE("n " + std::to_string(n));
  constexpr index_t kRows = 3;
  const index_t y_row = n + 1;
  const index_t dy_row = n + 2;
  Guarded<T> x(random_values<T>((kRows - 1) * y_row + n, 51, -4, 4), n % 5);
  Guarded<T> dy(random_values<T>((kRows - 1) * dy_row + n, 52), n % 3);
  Guarded<T> y((kRows - 1) * y_row + n, n % 7), logs((kRows - 1) * y_row + n, 2);
  Guarded<T> dx(kRows * n, n % 4), dlogs(kRows * n, 1);
  table<T>().softmax(kRows, n, x.data(), y_row, y.data(), y_row);
  table<T>().log_softmax(kRows, n, x.data(), y_row, logs.data(), y_row);
  table<T>().softmax_gradient(kRows, n, y.data(), y_row, dy.data(), dy_row, dx.data());
  table<T>().log_softmax_gradient(kRows, n, logs.data(), y_row, dy.data(), dy_row, dlogs.data());

  std::vector<Wide<T>> want, want_logs;
  const auto inputs = rows_of(x.data(), kRows, n, y_row);
  const auto gradients = rows_of(dy.data(), kRows, n, dy_row);
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    Wide<T> sum = 0, along = 0, total = 0;
    for (const Wide<T> v : inputs[r]) sum += std::exp(v);
    for (std::size_t i = 0; i < inputs[r].size(); ++i) {
      along += std::exp(inputs[r][i]) / sum * gradients[r][i];
      total += gradients[r][i];
    }
    for (std::size_t i = 0; i < inputs[r].size(); ++i) {
      const Wide<T> share = std::exp(inputs[r][i]) / sum;
      want.push_back(share * (gradients[r][i] - along));
      want_logs.push_back(gradients[r][i] - share * total);
    }
  }
  EXPECT_TRUE(near(dx.values(), want, 0, 8 * kEpsilon<T>));
  EXPECT_TRUE(near(dlogs.values(), want_logs, 0, 40 * kEpsilon<T>));
  EXPECT_TRUE(dx.intact() && dlogs.intact() && y.intact() && dy.intact());

  // In place, and for a single row, the bits are the same.
  Guarded<T> alone(std::vector<T>(dy.data() + dy_row, dy.data() + dy_row + n), n % 6);
  table<T>().softmax_gradient(1, n, y.data() + y_row, 0, alone.data(), 0, alone.data());
  EXPECT_TRUE(same_bits(alone.values(), std::vector<T>(dx.data() + n, dx.data() + 2 * n)));
}

TEST_P(GradientKernelsTest, Softmaxes) {
  for (const index_t n : kGradientLengths) {
    for_floats([&]<class T>(T) { expect_softmax_gradients<T>(n); });
  }
}

/// Inputs and outputs of layer norm's gradient, between guards.
template <class T>
struct NormCase {
  index_t rows, n;
  bool centres;
  Guarded<T> s, dy, added, weight, mean, rstd, shift, ds, dweight, dbias;

  NormCase(index_t row_count, index_t length, double centre, bool is_layer_norm = true)
      : rows(row_count),
        n(length),
        centres(is_layer_norm),
        s(random_values<T>(rows * (n + 1), 56, centre - 2, centre + 3), n % 5),
        dy(random_values<T>(rows * (n + 2), 57), n % 3),
        added(random_values<T>(rows * (n + 3), 58), n % 4),
        weight(random_values<T>(n, 59, 0.5, 2), 1),
        mean(rows, 1),
        rstd(rows, 2),
        shift(rows, 3),
        ds(rows * n, n % 7),
        dweight(n, 2),
        dbias(n, 1) {
    std::vector<T> y(static_cast<std::size_t>(rows * n));
    kernels::LayerNormArgs<T> args = {
        .rows = rows, .n = n, .centres = centres, .x = s.data(), .x_row = n + 1};
    args.eps = static_cast<T>(1e-5);
    args.y = y.data();
    args.y_row = n;
    args.mean = mean.data();
    args.rstd = rstd.data();
    args.shift = shift.data();
    table<T>().layer_norm(args);
  }

  kernels::LayerNormGradientArgs<T> args(bool affine, bool adds) {
    kernels::LayerNormGradientArgs<T> result = {.rows = rows,
                                                .n = n,
                                                .centres = centres,
                                                .s = s.data(),
                                                .s_row = n + 1,
                                                .dy = dy.data(),
                                                .dy_row = n + 2};
    result.weight = affine ? weight.data() : nullptr;
    result.mean = centres ? mean.data() : nullptr;
    result.rstd = rstd.data();
    result.shift = centres ? shift.data() : nullptr;
    result.added = adds ? added.data() : nullptr;
    result.added_row = n + 3;
    result.ds = ds.data();
    result.ds_row = n;
    result.dweight = dweight.data();
    result.dbias = dbias.data();
    return result;
  }
};

template <class T>
void expect_norm_gradients(index_t rows, index_t n, bool affine, bool adds, double centre,
                           bool centres = true) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(n) + ", affine " +
               std::to_string(affine) + ", added " + std::to_string(adds) + ", centres " +
               std::to_string(centres));
  NormCase<T> c(rows, n, centre, centres);
  table<T>().layer_norm_gradient(c.args(affine, adds));

  const auto width = static_cast<std::size_t>(n);
  const auto count = static_cast<Wide<T>>(n);
  std::vector<Wide<T>> ds, dweight(width, 0), dbias(width, 0);
  const auto s = rows_of(c.s.data(), rows, n, n + 1);
  const auto dy = rows_of(c.dy.data(), rows, n, n + 2);
  const auto added = rows_of(c.added.data(), rows, n, n + 3);
  for (std::size_t r = 0; r < s.size(); ++r) {
    Wide<T> mean = 0, variance = 0, mean_dn = 0, mean_dn_n = 0;
    const auto shifted = [&](Wide<T> v) { return centres ? v - s[r][0] : v; };
    for (const Wide<T> v : s[r]) mean += centres ? shifted(v) / count : 0;
    for (const Wide<T> v : s[r]) {
      variance += (shifted(v) - mean) * (shifted(v) - mean) / count;
    }
    const Wide<T> rstd = 1 / std::sqrt(variance + static_cast<Wide<T>>(static_cast<T>(1e-5)));
    const auto normal = [&](std::size_t i) { return (shifted(s[r][i]) - mean) * rstd; };
    const auto dn = [&](std::size_t i) {
      return dy[r][i] * (affine ? static_cast<Wide<T>>(c.weight[static_cast<index_t>(i)]) : 1);
    };
    for (std::size_t i = 0; i < width; ++i) {
      mean_dn += centres ? dn(i) / count : 0;
      mean_dn_n += dn(i) * normal(i) / count;
      dweight[i] += dy[r][i] * normal(i);
      dbias[i] += dy[r][i];
    }
    for (std::size_t i = 0; i < width; ++i) {
      ds.push_back(rstd * (dn(i) - mean_dn - normal(i) * mean_dn_n) + (adds ? added[r][i] : 0));
    }
  }
  // Two elements have nearly no gradient, because it is a difference of large parts.
  const double tolerance = (n < 4 ? 2000 : 60) * kEpsilon<T>;
  EXPECT_TRUE(near(c.ds.values(), ds, 8, tolerance));
  EXPECT_TRUE(near(c.dweight.values(), dweight, 8, tolerance));
  EXPECT_TRUE(near(c.dbias.values(), dbias, 8, tolerance));
  EXPECT_TRUE(c.ds.intact() && c.dweight.intact() && c.dbias.intact() && c.added.intact());
}

TEST_P(GradientKernelsTest, LayerNormAndRmsNorm) {
  for (const index_t n : kGradientLengths) {
    if (n == 1) continue;  // a constant row; s / |s|, whose gradient is a difference of large parts
    for (const index_t rows : {1, 2, 5}) {
      for (const bool affine : {false, true}) {
        for (const bool centres : {true, false}) {
          expect_norm_gradients<float>(rows, n, affine, rows == 2, 0.5, centres);
          expect_norm_gradients<double>(rows, n, affine, rows == 2, 0.5, centres);
        }
      }
    }
  }
}

// The digits that a float of 1e5 loses are in `shift`.
TEST_P(GradientKernelsTest, LayerNormFarFromZero) {
  expect_norm_gradients<float>(5, 100, true, true, 1e4);
  expect_norm_gradients<double>(5, 100, true, true, 1e5);
}

// A constant row deviates by 0, so ds = rstd (dy - mean(dy)) for any constant. Lanes after the
// row's end, where 0 - mean times rstd is infinite, must have no effect.
template <class T>
void expect_gradient_of_a_constant_row(index_t n) {
  SCOPED_TRACE("n " + std::to_string(n));
  constexpr T kRstd = 256;
  const std::vector<T> s(static_cast<std::size_t>(n), std::numeric_limits<T>::max() / 2);
  const std::vector<T> dy = random_values<T>(n, 57);
  std::vector<T> ds(s.size());
  const T shift = 0;
  kernels::LayerNormGradientArgs<T> args = {
      .rows = 1, .n = n, .s = s.data(), .s_row = n, .dy = dy.data(), .dy_row = n};
  args.mean = s.data();
  args.rstd = &kRstd;
  args.shift = &shift;
  args.ds = ds.data();
  args.ds_row = n;
  table<T>().layer_norm_gradient(args);
  Wide<T> mean = 0;
  for (const T d : dy) mean += static_cast<Wide<T>>(d) / static_cast<Wide<T>>(n);
  std::vector<Wide<T>> want;
  for (const T d : dy) want.push_back(kRstd * (d - mean));
  EXPECT_TRUE(near(ds, want, 8, 8 * kRstd * kEpsilon<T>));
}

TEST_P(GradientKernelsTest, LayerNormOfAConstantRow) {
  for (const index_t n : kGradientLengths) {
    for_floats([&]<class T>(T) { expect_gradient_of_a_constant_row<T>(n); });
  }
}

// The bits do not depend on the number of rows computed together, or on other requested results.
template <class T>
void expect_norm_bits(index_t n) {
  constexpr index_t kRows = 5;
  NormCase<T> c(kRows, n, 0.5);
  const auto all = c.args(true, true);
  table<T>().layer_norm_gradient(all);
  const std::vector<T> ds = c.ds.values();
  const std::vector<T> dweight = c.dweight.values();

  std::vector<T> plain(static_cast<std::size_t>(kRows * n));
  for (index_t row = 0; row < kRows; ++row) {
    kernels::LayerNormGradientArgs<T> one = all;
    one.rows = 1;
    one.s += row * all.s_row;
    one.dy += row * all.dy_row;
    one.mean += row;
    one.rstd += row;
    one.shift += row;
    one.added = nullptr;
    one.ds = plain.data() + row * n;
    one.dweight = one.dbias = nullptr;
    table<T>().layer_norm_gradient(one);
  }
  std::vector<T> sums = plain;
  for (index_t i = 0; i < kRows * n; ++i) {
    sums[static_cast<std::size_t>(i)] += c.added[i / n * (n + 3) + i % n];
  }
  EXPECT_TRUE(same_bits(ds, sums)) << "added in a pass of its own; n " << n;

  kernels::LayerNormGradientArgs<T> parameters = all;
  parameters.ds = nullptr;
  table<T>().layer_norm_gradient(parameters);
  EXPECT_TRUE(same_bits(c.dweight.values(), dweight));

  kernels::LayerNormGradientArgs<T> in_place = c.args(true, true);
  in_place.ds = c.added.data();
  in_place.ds_row = in_place.added_row;
  table<T>().layer_norm_gradient(in_place);
  for (index_t row = 0; row < kRows; ++row) {
    const T* got = c.added.data() + row * (n + 3);
    EXPECT_TRUE(same_bits(std::vector<T>(got, got + n),
                          std::vector<T>(&ds[static_cast<std::size_t>(row * n)],
                                         &ds[static_cast<std::size_t>(row * n)] + n)));
  }
}

TEST_P(GradientKernelsTest, TheBitsOfLayerNormsGradient) {
  for (const index_t n : kGradientLengths) {
    for_floats([&]<class T>(T) { expect_norm_bits<T>(n); });
  }
}

}  // namespace
}  // namespace tessera::test
