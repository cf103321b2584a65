#include <array>
#include <numeric>

#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::ReduceOp;

class ReduceKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, ReduceKernelsTest, each_isa(), isa_name);

constexpr std::array kOps = {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin,
                             ReduceOp::kSquaredDeviations};
// Near multiples of sixteen lanes and of the blocks of long rows.
constexpr std::array<index_t, 20> kReducedLengths = {
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 511, 512, 513, 528, 1025, 3000};

template <class T>
void expect_columns(index_t rows, index_t columns) {
  const index_t x_row = columns + 3;
  const std::vector<T> values = random_values<T>(rows * x_row, 22, -1, 3);
  const index_t elements = rows == 0 ? 0 : (rows - 1) * x_row + columns;
  Guarded<T> x(std::vector<T>(values.begin(), values.begin() + elements), columns % 5);
  for (const ReduceOp op : kOps) {
    Guarded<T> y(columns, columns % 3);
    table<T>().reduce_columns(op, rows, columns, x.data(), x_row, y.data());
    std::vector<T> want;
    for (index_t j = 0; j < columns; ++j) {
      want.push_back(table<T>().reduce(op, rows, x.data() + j, x_row));
    }
    ASSERT_TRUE(same_bits(y.values(), want))
        << rows << " rows, " << columns << " columns, op " << static_cast<int>(op);
    ASSERT_TRUE(y.intact());
  }
}

TEST_P(ReduceKernelsTest, ColumnsHaveTheBitsOfRows) {
  for (const index_t rows : {0, 1, 2, 15, 16, 17, 33, 511, 513, 1100}) {
    for (const index_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 130}) {
      for_floats([&]<class T>(T) { expect_columns<T>(rows, columns); });
    }
  }
}

TEST_P(ReduceKernelsTest, NanIsSeenAtEveryPlace) {
  for_floats([]<class T>(T) {
    for (index_t n = 1; n <= 70; ++n) {
      for (index_t i = 0; i < n; ++i) {
        std::vector<T> x = random_values<T>(n, 23);
        x[static_cast<std::size_t>(i)] = std::numeric_limits<T>::quiet_NaN();
        for (const ReduceOp op : kOps) {
          ASSERT_TRUE(std::isnan(table<T>().reduce(op, n, x.data(), 1)))
              << "NaN at " << i << " of " << n << ", op " << static_cast<int>(op) << "; "
              << circumstances();
          T column;
          table<T>().reduce_columns(op, n, 1, x.data(), 1, &column);
          ASSERT_TRUE(std::isnan(column)) << "NaN at " << i << " of a column of " << n;
        }
        ASSERT_EQ(table<T>().argmax(n, x.data(), 1), i);
      }
    }
  });
}

TEST_P(ReduceKernelsTest, ExtremaAtEveryPlace) {
  for (index_t n = 1; n <= 70; ++n) {
    for (index_t i = 0; i < n; ++i) {
      std::vector<float> x(static_cast<std::size_t>(n), -5.0F);
      x[static_cast<std::size_t>(i)] = -4.0F;
      ASSERT_EQ(table<float>().reduce(ReduceOp::kMax, n, x.data(), 1), -4.0F);
      ASSERT_EQ(table<float>().argmax(n, x.data(), 1), i);
      x[static_cast<std::size_t>(i)] = -6.0F;
      ASSERT_EQ(table<float>().reduce(ReduceOp::kMin, n, x.data(), 1), -6.0F);
    }
  }
}

TEST_P(ReduceKernelsTest, LongSumsKeepTheirDigits) {
  const std::vector<float> x = random_values<float>(1 << 20, 24, 0, 1);
  const double want = std::accumulate(x.begin(), x.end(), 0.0);
  EXPECT_NEAR(table<float>().reduce(ReduceOp::kSum, 1 << 20, x.data(), 1), want, 2e-6 * want);
}

TEST_P(ReduceKernelsTest, DeviationsOfAMeanFarFromZero) {
  std::vector<float> x = random_values<float>(768, 25, -2, 2);
  for (float& value : x) value += 1e6F;
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 768;
  double want = 0;
  for (const float value : x) want += (value - mean) * (value - mean);
  EXPECT_NEAR(table<float>().reduce(ReduceOp::kSquaredDeviations, 768, x.data(), 1), want,
              1e-6 * want);
  const std::vector<float> constant(768, 0.1F);
  EXPECT_EQ(table<float>().reduce(ReduceOp::kSquaredDeviations, 768, constant.data(), 1), 0.0F);
}

// Every product is rounded before an addition here, so even the baseline has the same bits.
TEST(ReduceKernels, SameBitsOnEveryIsa) {
  const std::string before = current_isa();
  for (const index_t n : kReducedLengths) {
    const std::vector<float> x = random_values<float>(n, 26);
    for (const ReduceOp op : kOps) {
      set_isa("baseline");
      const float want = table<float>().reduce(op, n, x.data(), 1);
      for (const std::string& isa : available_isas()) {
        set_isa(isa);
        EXPECT_TRUE(same_bits<float>({table<float>().reduce(op, n, x.data(), 1)}, {want}))
            << "n " << n << ", op " << static_cast<int>(op);
      }
    }
  }
  set_isa(before);
}

}  // namespace
}  // namespace tessera::test
