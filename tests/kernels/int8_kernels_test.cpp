// Products of int8 against integers of 64 bits, and codes against their definition, in each
// multiplying loop: on every instruction set, with and without dot products.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::kInt8Group;
using kernels::MatrixRef;

/// A loop that multiplies codes.
struct Int8Loop {
  std::string isa;
  bool dots;
};

/// Switches to a loop, and back at the end.
class UseInt8Loop {
 public:
  explicit UseInt8Loop(const Int8Loop& loop) {
    set_isa(loop.isa);
    set_dot_products(loop.dots);
  }
  ~UseInt8Loop() {
    set_isa(isa_);
    set_dot_products(true);
  }
  UseInt8Loop(const UseInt8Loop&) = delete;
  UseInt8Loop& operator=(const UseInt8Loop&) = delete;

 private:
  std::string isa_ = current_isa();
};

std::vector<Int8Loop> each_int8_loop() {
  std::vector<Int8Loop> loops;
  for (const std::string& isa : available_isas()) {
    loops.push_back({isa, false});
    const UseInt8Loop use({isa, true});
    if (dot_products()) loops.push_back({isa, true});
  }
  return loops;
}

std::string int8_loop_name(const ::testing::TestParamInfo<Int8Loop>& info) {
  return info.param.isa + (info.param.dots ? "_dots" : "");
}

class Int8KernelsTest : public ::testing::TestWithParam<Int8Loop> {
  UseInt8Loop use_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Loops, Int8KernelsTest, ::testing::ValuesIn(each_int8_loop()),
                         int8_loop_name);

const kernels::Int8Kernels& int8_table() {
  return kernels::table().int8;
}

index_t int8_panel_width() {
  return 2 * kernels::table().f32.lanes;
}

/// Rounds to float after each operation.
float rounded_product(float a, float b) {
  const volatile float product = a * b;
  return product;
}

/// A as codes.
struct RowCodes {
  index_t m, k;
  bool dots = dot_products();
  index_t size = int8_table().row_size(k, dots);
  Guarded<std::uint32_t> codes{m * size};
  Guarded<float> scales{m};
  Guarded<std::int32_t> zeros{m};

  RowCodes(index_t rows, index_t columns, const MatrixRef<float>& a) : m(rows), k(columns) {
    int8_table().quantize_rows(m, k, a, all());
    EXPECT_TRUE(codes.intact());
    EXPECT_TRUE(scales.intact());
    EXPECT_TRUE(zeros.intact());
  }

  kernels::Int8Rows all() { return {dots, codes.data(), scales.data(), zeros.data()}; }

  int code(index_t i, index_t p) const {
    const std::uint32_t* const row = codes.data() + i * size;
    const index_t place = p % kInt8Group;
    const std::uint32_t byte = row[p / kInt8Group] >> 8 * place & 0xff;
#if defined(__aarch64__)
    if (byte < 256) return static_cast<int>((byte + 128) % 256);  // stored with 128 subtracted
#endif
    if (dots) return static_cast<int>(byte);
    return static_cast<int>(row[p / kInt8Group * 2 + place % 2] >> 16 * (place / 2) & 0xffff);
  }
};

/// B as codes.
struct ColumnCodes {
  index_t k, n;
  bool gated;
  index_t count = kernels::panel_columns(n, gated, kernels::table().f32.lanes);
  Guarded<std::int8_t> codes{count * ((k + kInt8Group - 1) / kInt8Group * kInt8Group)};
  Guarded<float> scales{count};
  Guarded<std::int32_t> sums{count};
  bool finite = false;

  ColumnCodes(index_t rows, index_t columns, const MatrixRef<float>& b, bool is_gated = false)
      : k(rows), n(columns), gated(is_gated) {
    finite = int8_table().pack(k, n, gated, b, codes.data(), scales.data(), sums.data());
    EXPECT_TRUE(codes.intact());
    EXPECT_TRUE(scales.intact());
    EXPECT_TRUE(sums.intact());
  }

  kernels::Int8Panels all() const { return {codes.data(), scales.data(), sums.data()}; }

  /// The position of column j of B.
  index_t column(index_t j) const {
    if (!gated) return j;
    const index_t lanes = int8_panel_width() / 2;
    return j % n / lanes * int8_panel_width() + j / n * lanes + j % n % lanes;
  }
  int code(index_t p, index_t j) const {
    return codes.data()[kernels::int8_place(k, int8_panel_width(), p, column(j))];
  }
  float scale(index_t j) const { return scales.data()[column(j)]; }
  std::int32_t sum(index_t j) const { return sums.data()[column(j)]; }
};

/// Numbers of a different size in each row, or in each column.
std::vector<float> uneven_values(index_t rows, index_t columns, std::uint64_t seed, bool by_rows) {
  std::vector<float> values = random_values<float>(rows * columns, seed, -1, 1.3);
  for (index_t i = 0; i < rows * columns; ++i) {
    const index_t line = by_rows ? i / columns : i % columns;
    values[static_cast<std::size_t>(i)] *= static_cast<float>(std::pow(1.7, line % 11 - 5));
  }
  return values;
}

/// C (m, n), and the way it is computed from codes.
struct Int8Product {
  index_t m, n, k;
  bool bias = true;
  index_t c_gap = 0;
  bool spaced = false;  // A by columns, B by rows of (n, k)

  std::vector<float> a = uneven_values(m, k, 1, !spaced);
  std::vector<float> b = uneven_values(k, n, 2, spaced);
  Guarded<float> addend{random_values<float>(n, 3, -5, 5)};
  Guarded<float> c{m * (n + c_gap)};

  MatrixRef<float> a_matrix() const { return {a.data(), spaced ? 1 : k, spaced ? m : 1}; }
  MatrixRef<float> b_matrix() const { return {b.data(), spaced ? 1 : n, spaced ? k : 1}; }
  std::string name() const {
    return std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) + ", spaced " +
           std::to_string(spaced) + ", dot products " + std::to_string(dot_products()) + ", " +
           circumstances();
  }

  kernels::Int8Args args(RowCodes& rows, const ColumnCodes& columns) {
    return {.product = {.m = m,
                        .n = n,
                        .k = k,
                        .c = c.data(),
                        .c_row = n + c_gap,
                        .epilogue = {.bias = bias ? addend.data() : nullptr},
                        .workers = thread_count()},
            .a = rows.all(),
            .b = columns.all()};
  }

  std::vector<float> values() {
    RowCodes rows(m, k, a_matrix());
    const ColumnCodes columns(k, n, b_matrix());
    run(args(rows, columns));
    return c.values();
  }

  void run(const kernels::Int8Args& all) {
    for (index_t i = 0; i < m * (n + c_gap); ++i) c[i] = std::numeric_limits<float>::quiet_NaN();
    int8_table().gemm(all);
    ASSERT_TRUE(c.intact()) << name();
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = n; j < n + c_gap; ++j) ASSERT_TRUE(std::isnan(c[i * (n + c_gap) + j]));
    }
  }

  void expect_exact() {
    RowCodes rows(m, k, a_matrix());
    const ColumnCodes columns(k, n, b_matrix());
    ASSERT_TRUE(columns.finite);
    run(args(rows, columns));
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = 0; j < n; ++j) {
        std::int64_t sum = 0, column_sum = 0;
        for (index_t p = 0; p < k; ++p) {
          const std::int64_t code = columns.code(p, j);
          sum += (rows.code(i, p) - rows.zeros[i]) * code;
          column_sum += code;
        }
        ASSERT_EQ(columns.sum(j), column_sum) << name();
        ASSERT_LE(std::abs(sum), std::numeric_limits<std::int32_t>::max());
        float want = rounded_product(static_cast<float>(sum),
                                     rounded_product(rows.scales[i], columns.scale(j)));
        if (bias) want += addend[j];
        ASSERT_EQ(c[i * (n + c_gap) + j], want) << i << ", " << j << " of " << name();
      }
    }
  }
};

TEST_P(Int8KernelsTest, IsExactAtEverySmallSize) {
  index_t number = 0;
  for (index_t m = 1; m <= 26; ++m) {
    for (index_t n = 1; n <= 35; ++n) {
      ++number;
      Int8Product product{.m = m,
                          .n = n,
                          .k = 1 + number % 9,
                          .bias = number % 3 != 0,
                          .c_gap = number % 2,
                          .spaced = number % 5 < 2};
      product.expect_exact();
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST_P(Int8KernelsTest, IsExactAroundPanelsAndBlocks) {
  index_t number = 0;
  for (const index_t m : {1, 2, 3, 12, 50, 145}) {
    for (const index_t n : {1, 15, 64, 67, 130}) {
      for (const index_t k : {1, 63, 64, 65, 257}) {
        Int8Product product{.m = m, .n = n, .k = k, .spaced = ++number % 2 == 0};
        product.expect_exact();
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
  Int8Product{.m = 230, .n = 33, .k = 2049}.expect_exact();
}

TEST_P(Int8KernelsTest, AProductOfDepth0IsTheBias) {
  Int8Product product{.m = 5, .n = 7, .k = 0};
  product.b.resize(7);  // not null
  const std::vector<float> c = product.values();
  for (index_t i = 0; i < 35; ++i) EXPECT_EQ(c[static_cast<std::size_t>(i)], product.addend[i % 7]);
}

/// All codes at their limits: the largest possible sums.
TEST_P(Int8KernelsTest, HoldsTheLargestSums) {
  for (const float a_sign : {1.0F, -1.0F}) {
    for (const float b_sign : {1.0F, -1.0F}) {
      Int8Product product{.m = 3, .n = 5, .k = kernels::kInt8Depth};
      std::fill(product.a.begin(), product.a.end(), a_sign);
      std::fill(product.b.begin(), product.b.end(), b_sign);
      product.expect_exact();
      EXPECT_NEAR(product.c[7], 65536 * a_sign * b_sign + product.addend[2], 0.1);
    }
  }
}

/// The definition of a row's codes, with every operation rounded to float.
void expect_codes_of_row(const RowCodes& rows, index_t i, const float* row) {
  const float low = std::min(0.0F, *std::min_element(row, row + rows.k));
  const float high = std::max(0.0F, *std::max_element(row, row + rows.k));
  const float scale = std::max(high / 255.0F - low / 255.0F, 0x1p-126F);
  const float per_unit = 1.0F / scale;
  const float zero = std::nearbyint(rounded_product(-low, per_unit));
  ASSERT_EQ(rows.scales.data()[i], scale);
  ASSERT_EQ(rows.zeros.data()[i], zero);
  for (index_t p = 0; p < rows.k; ++p) {
    const float want = std::min(std::nearbyint(rounded_product(row[p], per_unit)) + zero, 255.0F);
    const int code = rows.code(i, p);
    ASSERT_EQ(code, want) << "row " << i << ", element " << p << " of " << rows.k;
    ASSERT_GE(want, 0);
    // Half a scale, and the clamped half of the zero point's rounding.
    const double error = std::fabs((code - double{zero}) * scale - row[p]);
    ASSERT_LE(error, (code == 255 ? 1.0001 : 0.5001) * scale) << row[p];
  }
}

TEST_P(Int8KernelsTest, CodesOfRowsFollowTheirDefinition) {
  for (const index_t k : {1, 3, 4, 7, 16, 17, 31, 64, 100, 1030}) {
    std::vector<float> a = uneven_values(9, k, 7, true);
    float* const row = a.data();
    std::fill(row, row + k, 0.0F);               // row 0
    std::fill(row + k, row + 2 * k, 3.25F);      // row 1
    std::fill(row + 2 * k, row + 3 * k, -0.7F);  // row 2
    row[3 * k + k / 2] = 1e38F;                  // row 3
    row[4 * k + k / 3] = -3.4e38F;               // row 4
    if (k > 1) row[4 * k + k - 1] = 3.4e38F;     // too far apart for a float
    for (index_t p = 0; p < k; ++p) {
      row[5 * k + p] *= 1e-38F;                                // row 5: below the least scale
      row[6 * k + p] = static_cast<float>(p % 511 - 255) / 2;  // row 6: ties
    }
    RowCodes rows(9, k, {a.data(), k, 1});
    for (index_t i = 0; i < 9; ++i) {
      expect_codes_of_row(rows, i, row + i * k);
      ASSERT_FALSE(HasFatalFailure()) << "row " << i << ", k " << k;
    }
  }
}

TEST_P(Int8KernelsTest, CodesOfColumnsFollowTheirDefinition) {
  for (const index_t k : {1, 5, 64, 131}) {
    for (const index_t n : {1, 40, 70}) {
      std::vector<float> b = uneven_values(k, n, 8, false);
      for (index_t p = 0; p < k && n > 1; ++p) b[static_cast<std::size_t>(p * n + 1)] = 0;
      const ColumnCodes columns(k, n, {b.data(), n, 1});
      EXPECT_TRUE(columns.finite);
      for (index_t j = 0; j < n; ++j) {
        float largest = 0;
        for (index_t p = 0; p < k; ++p) largest = std::max(largest, std::fabs(b.data()[p * n + j]));
        const float scale = std::max(largest / 127.0F, 0x1p-126F);
        ASSERT_EQ(columns.scale(j), scale);
        for (index_t p = 0; p < k; ++p) {
          const float want = std::nearbyint(rounded_product(b.data()[p * n + j], 1.0F / scale));
          ASSERT_EQ(columns.code(p, j), want) << p << ", " << j << " of " << k << " x " << n;
          ASSERT_LE(std::fabs(want), 127);
        }
      }
    }
  }
}

constexpr float kNotFinite[] = {std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};

TEST_P(Int8KernelsTest, ARowThatIsNotFiniteIsNaNAndChangesNoOther) {
  const index_t m = 15, n = 37;
  for (const bool spaced : {false, true}) {
    for (const index_t k : {1, 3, 16, 70, 129}) {
      Int8Product product{.m = m, .n = n, .k = k, .spaced = spaced};
      const std::vector<float> want = product.values();
      const std::vector<float> finite = product.a;
      for (index_t i = 0; i < m; ++i) {
        const index_t p = i * 31 % k;
        product.a = finite;
        product.a[static_cast<std::size_t>(spaced ? p * m + i : i * k + p)] = kNotFinite[i % 3];
        RowCodes rows(m, k, product.a_matrix());
        EXPECT_TRUE(std::isnan(rows.scales[i])) << product.name();
        EXPECT_EQ(rows.zeros[i], 0);
        for (index_t q = 0; q < k; ++q) EXPECT_EQ(rows.code(i, q), 0);
        std::vector<float> got = product.values();
        for (index_t j = 0; j < n; ++j) {
          float& y = got[static_cast<std::size_t>(i * n + j)];
          EXPECT_TRUE(std::isnan(y)) << i << ", " << j << " of " << product.name();
          y = want[static_cast<std::size_t>(i * n + j)];
        }
        EXPECT_TRUE(same_bits(got, want)) << product.name();
      }
    }
  }
}

TEST_P(Int8KernelsTest, ReportsColumnsThatAreNotFinite) {
  const index_t n = 37;
  for (const float bad : kNotFinite) {
    for (index_t p = 0; p < n; ++p) {
      std::vector<float> x(static_cast<std::size_t>(3 * n), 1.0F);
      x[static_cast<std::size_t>(n + p)] = bad;
      EXPECT_FALSE(ColumnCodes(n, 3, {x.data(), 1, n}).finite);
      EXPECT_FALSE(ColumnCodes(3, n, {x.data(), n, 1}).finite);
    }
  }
}

/// Codes are multiplied by the loop that they were made for, even after a switch to another.
TEST_P(Int8KernelsTest, AProductIsInTheOrderOfItsCodes) {
  Int8Product product{.m = 31, .n = 40, .k = 70};
  const std::vector<float> want = product.values();
  RowCodes rows(product.m, product.k, product.a_matrix());
  const ColumnCodes columns(product.k, product.n, product.b_matrix());
  set_dot_products(!GetParam().dots);
  product.run(product.args(rows, columns));
  EXPECT_TRUE(same_bits(product.c.values(), want));
}

TEST_P(Int8KernelsTest, RowsOfZerosGiveExactZeros) {
  Int8Product product{.m = 13, .n = 40, .k = 70, .bias = false};
  std::fill(product.a.begin(), product.a.end(), 0.0F);
  for (const float c : product.values()) EXPECT_EQ(c, 0);
}

TEST_P(Int8KernelsTest, HasTheSameBitsOnEveryThreadCount) {
  for (const auto& [m, n, k] : {std::tuple<index_t, index_t, index_t>{1, 4000, 2000},
                                {8, 2100, 1200},
                                {601, 17, 1270},
                                {294, 130, 640}}) {
    Int8Product product{.m = m, .n = n, .k = k};
    set_thread_count(1);
    const std::vector<float> want = product.values();
    for (const int threads : {2, 3, 4, 7}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(product.values(), want)) << product.name();
    }
    set_thread_count(0);
  }
}

TEST_P(Int8KernelsTest, ARowAloneHasTheBitsItHasAmongOthers) {
  Int8Product product{.m = 67, .n = 131, .k = 300};
  const std::vector<float> want = product.values();
  const ColumnCodes columns(product.k, product.n, product.b_matrix());
  for (const index_t count : {1, 2, 8, 25}) {
    for (index_t i = 0; i + count <= product.m; i += count) {
      RowCodes rows(count, product.k, product.a_matrix().at(i, 0));
      std::vector<float> c(static_cast<std::size_t>(count * product.n));
      kernels::Int8Args args = product.args(rows, columns);
      args.product.m = count;
      args.product.c = c.data();
      args.product.c_row = product.n;
      int8_table().gemm(args);
      const auto part = want.begin() + i * product.n;
      ASSERT_TRUE(same_bits(c, std::vector<float>(part, part + count * product.n))) << i;
    }
  }
}

constexpr Activation kInt8Activations[] = {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                           Activation::kGeluTanh, Activation::kSilu};

void activate_all(Activation activation, std::vector<float>& z) {
  if (activation == Activation::kNone) return;
  table<float>().unary(kernels::function_of(activation), static_cast<index_t>(z.size()), z.data(),
                       1, z.data());
}

TEST_P(Int8KernelsTest, ActivationAndResidualHaveTheBitsOfTheSeparateKernels) {
  for (const Activation activation : kInt8Activations) {
    for (const index_t m : {1, 3, 40}) {
      Int8Product product{.m = m, .n = 75, .k = 90};
      const std::vector<float> z = product.values();
      const std::vector<float> residual = random_values<float>(m * product.n, 9);
      std::vector<float> want = z;
      activate_all(activation, want);
      for (std::size_t i = 0; i < want.size(); ++i) want[i] += residual[i];
      Guarded<float> argument(m * product.n);
      RowCodes rows(m, product.k, product.a_matrix());
      const ColumnCodes columns(product.k, product.n, product.b_matrix());
      kernels::Int8Args args = product.args(rows, columns);
      args.product.epilogue = {.bias = product.addend.data(),
                               .function = activation,
                               .residual = residual.data(),
                               .residual_row = product.n,
                               .z = argument.data()};
      product.run(args);
      EXPECT_TRUE(same_bits(product.c.values(), want)) << static_cast<int>(activation);
      EXPECT_TRUE(same_bits(argument.values(), z));
      EXPECT_TRUE(argument.intact());
    }
  }
}

TEST_P(Int8KernelsTest, AGateHasTheBitsOfTheSeparateKernels) {
  for (const Activation activation : kInt8Activations) {
    for (const index_t m : {1, 2, 13, 150}) {
      const index_t n = 35, k = 83;
      Int8Product plain{.m = m, .n = 2 * n, .k = k};
      const std::vector<float> z = plain.values();
      RowCodes rows(m, k, plain.a_matrix());
      const ColumnCodes columns(k, n, plain.b_matrix(), true);
      Guarded<float> halves(m * 2 * n);
      Int8Product gated{.m = m, .n = n, .k = k, .c_gap = 1};
      kernels::Int8Args args = gated.args(rows, columns);
      args.product.epilogue = {
          .bias = plain.addend.data(), .function = activation, .gated = true, .z = halves.data()};
      gated.run(args);
      EXPECT_TRUE(same_bits(halves.values(), z));
      EXPECT_TRUE(halves.intact());
      for (index_t i = 0; i < m; ++i) {
        const float* const row = z.data() + i * 2 * n;
        std::vector<float> want(row, row + n);
        activate_all(activation, want);
        for (index_t j = 0; j < n; ++j) want[static_cast<std::size_t>(j)] *= row[n + j];
        const float* const got = gated.c.data() + i * (n + 1);
        ASSERT_TRUE(same_bits(std::vector<float>(got, got + n), want)) << i << " of " << m;
      }
    }
  }
}

TEST_P(Int8KernelsTest, ARotationHasTheBitsOfTheSeparateKernel) {
  const index_t width = 24, heads = 3, rotated = 16, tokens = 5;
  for (const index_t m : {1, 5, 130}) {
    Int8Product product{.m = m, .n = width * heads + 10, .k = 45};
    Guarded<float> want{product.values()};
    const std::vector<float> angles = random_values<float>(tokens * rotated, 5);
    const kernels::HeadRotation<float> rotation = {.heads = heads,
                                                   .width = width,
                                                   .rotated = rotated,
                                                   .table = angles.data(),
                                                   .tokens = tokens};
    const kernels::Heads<float> place = {want.data(), tokens * product.n, width, product.n};
    table<float>().rotary({.rotation = rotation,
                           .x = {place.data, place.batch, place.head, place.token},
                           .y = place,
                           .rows = m});
    RowCodes rows(m, product.k, product.a_matrix());
    const ColumnCodes columns(product.k, product.n, product.b_matrix());
    kernels::Int8Args args = product.args(rows, columns);
    args.product.epilogue = {.bias = product.addend.data(), .rotation = rotation};
    product.run(args);
    EXPECT_TRUE(same_bits(product.c.values(), want.values())) << m;
  }
}

/// Results that must be the same on every instruction set: scales, zero points, codes and products.
TEST(Int8KernelsBits, AreTheSameInEachLoop) {
  for (const bool spaced : {false, true}) {
    std::vector<float> first;
    for (const Int8Loop& loop : each_int8_loop()) {
      const UseInt8Loop use(loop);
      Int8Product product{.m = 61, .n = 83, .k = 517, .spaced = spaced};
      RowCodes rows(product.m, product.k, product.a_matrix());
      const ColumnCodes columns(product.k, product.n, product.b_matrix());
      std::vector<float> all = product.values();
      for (index_t i = 0; i < product.m; ++i) {
        all.push_back(rows.scales[i]);
        all.push_back(static_cast<float>(rows.zeros[i]));
        for (index_t p = 0; p < product.k; ++p) all.push_back(static_cast<float>(rows.code(i, p)));
      }
      for (index_t j = 0; j < product.n; ++j) {
        all.push_back(columns.scale(j));
        for (index_t p = 0; p < product.k; ++p) {
          all.push_back(static_cast<float>(columns.code(p, j)));
        }
      }
      if (first.empty()) first = all;
      EXPECT_TRUE(same_bits(all, first)) << "dot products " << loop.dots;
    }
  }
}

}  // namespace
}  // namespace tessera::test
