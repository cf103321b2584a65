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
  return *kernels::isa_kernels().int8;
}

index_t int8_panel_width() {
  return 2 * kernels::table<float>().lanes;
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
  index_t count = kernels::panel_columns(n, false, kernels::table<float>().lanes);
  Guarded<std::int8_t> codes{count * ((k + kInt8Group - 1) / kInt8Group * kInt8Group)};
  Guarded<float> scales{count};
  Guarded<std::int32_t> sums{count};
  bool finite = false;

  ColumnCodes(index_t rows, index_t columns, const MatrixRef<float>& b) : k(rows), n(columns) {
    finite = int8_table().pack(k, n, false, b, codes.data(), scales.data(), sums.data());
    EXPECT_TRUE(codes.intact());
    EXPECT_TRUE(scales.intact());
    EXPECT_TRUE(sums.intact());
  }

  kernels::Int8Panels all() const { return {codes.data(), scales.data(), sums.data()}; }

  int code(index_t p, index_t j) const {
    return codes.data()[kernels::int8_place(k, int8_panel_width(), p, j)];
  }
  float scale(index_t j) const { return scales.data()[j]; }
  std::int32_t sum(index_t j) const { return sums.data()[j]; }
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

  void run(kernels::Int8Args all) {
    Guarded<float> workspace{int8_table().workspace(all.product, all.a.dots)};
    all.product.workspace = workspace.data();
    for (index_t i = 0; i < m * (n + c_gap); ++i) c[i] = std::numeric_limits<float>::quiet_NaN();
    int8_table().gemm(all);
    ASSERT_TRUE(c.intact() && workspace.intact()) << name();
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

TEST_P(Int8KernelsTest, ReportsColumnsThatAreNotFinite) {
  const index_t n = 37;
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    for (index_t p = 0; p < n; ++p) {
      std::vector<float> x(static_cast<std::size_t>(3 * n), 1.0F);
      x[static_cast<std::size_t>(n + p)] = bad;
      EXPECT_FALSE(ColumnCodes(n, 3, {x.data(), 1, n}).finite);
      EXPECT_FALSE(ColumnCodes(3, n, {x.data(), n, 1}).finite);
    }
  }
}

/// A panel that is too long to be widened.
TEST_P(Int8KernelsTest, IsExactForLongColumns) {
  Int8Product{.m = 30, .n = 33, .k = 8200}.expect_exact();
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

/// A last block of rows that is too small to widen the panels that the blocks before it widened.
TEST_P(Int8KernelsTest, BlocksOfRowsDoNotChangeBits) {
  set_thread_count(1);
  for (const index_t m : {1585, 3313}) {
    Int8Product product{.m = m, .n = 128, .k = 900};
    const std::vector<float> all = product.values();
    Int8Product last{.m = 1, .n = 128, .k = 900};
    last.a.assign(product.a.end() - last.k, product.a.end());
    const std::vector<float> want = last.values();
    EXPECT_TRUE(same_bits(std::vector<float>(all.end() - 128, all.end()), want)) << product.name();
  }
  set_thread_count(0);
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

}  // namespace
}  // namespace tessera::test
