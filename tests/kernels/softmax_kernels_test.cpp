#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

class SoftmaxKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, SoftmaxKernelsTest, each_isa(), isa_name);

template <class T>
std::vector<T> softmax(const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const auto n = static_cast<index_t>(x.size());
  table<T>().softmax(1, n, x.data(), n, y.data(), n);
  return y;
}

template <class T>
std::vector<T> log_softmax(const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const auto n = static_cast<index_t>(x.size());
  table<T>().log_softmax(1, n, x.data(), n, y.data(), n);
  return y;
}

template <class T>
T logsumexp(const std::vector<T>& x) {
  T y;
  const auto n = static_cast<index_t>(x.size());
  table<T>().logsumexp(1, n, x.data(), n, &y);
  return y;
}

template <class T>
Wide<T> log_sum(const std::vector<T>& x) {
  Wide<T> largest = -std::numeric_limits<Wide<T>>::infinity();
  for (const T value : x) largest = std::max(largest, static_cast<Wide<T>>(value));
  Wide<T> sum = 0;
  for (const T value : x) sum += std::exp(static_cast<Wide<T>>(value) - largest);
  return largest + std::log(sum);
}

// Rows with a gap between them, misaligned, between guards: the values, and no other memory
// written.
template <class T>
void expect_rows(index_t n) {
  SCOPED_TRACE("n " + std::to_string(n));
  constexpr index_t kRows = 3;
  const index_t x_row = n + 1;
  const index_t y_row = n + 2;
  const std::vector<T> values = random_values<T>((kRows - 1) * x_row + n, 31, -20, 20);
  Guarded<T> x(values, n % 5);
  Guarded<T> y((kRows - 1) * y_row + n, n % 3);
  Guarded<T> logs((kRows - 1) * y_row + n, n % 7);
  Guarded<T> sums(kRows, 1);
  table<T>().softmax(kRows, n, x.data(), x_row, y.data(), y_row);
  table<T>().log_softmax(kRows, n, x.data(), x_row, logs.data(), y_row);
  table<T>().logsumexp(kRows, n, x.data(), x_row, sums.data());
  for (index_t row = 0; row < kRows; ++row) {
    const auto begin = values.begin() + row * x_row;
    const std::vector<T> in(begin, begin + n);
    const T* out = y.data() + row * y_row;
    const T* log_out = logs.data() + row * y_row;
    const Wide<T> total = log_sum(in);
    std::vector<Wide<T>> want, log_want;
    for (const T value : in) {
      want.push_back(std::exp(static_cast<Wide<T>>(value) - total));
      log_want.push_back(static_cast<Wide<T>>(value) - total);
    }
    // x - max is rounded: half an ulp of up to 40, in the exponent.
    ASSERT_TRUE(near<T>(std::vector<T>(out, out + n), want, 45));
    const double absolute = 8 * 40 * static_cast<double>(std::numeric_limits<T>::epsilon());
    ASSERT_TRUE(near<T>(std::vector<T>(log_out, log_out + n), log_want, 4, absolute));
    ASSERT_TRUE(near<T>({sums[row]}, {total}, 4, absolute));
    ASSERT_TRUE(same_bits(std::vector<T>(out, out + n), softmax(in)));
    if (row + 1 < kRows) {
      for (index_t i = n; i < y_row; ++i) ASSERT_EQ(out[i], T{0}) << "written between rows";
    }
  }
  ASSERT_TRUE(y.intact() && logs.intact() && sums.intact());
}

TEST_P(SoftmaxKernelsTest, Rows) {
  for (const index_t n :
       {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100, 511, 513, 1025, 4097}) {
    for_floats([&]<class T>(T) { expect_rows<T>(n); });
  }
}

TEST_P(SoftmaxKernelsTest, InPlace) {
  const std::vector<float> x = random_values<float>(77, 32);
  std::vector<float> y = x;
  table<float>().softmax(1, 77, y.data(), 77, y.data(), 77);
  EXPECT_TRUE(same_bits(y, softmax(x)));
}

TEST_P(SoftmaxKernelsTest, LengthOneIsExactlyOne) {
  for (const float value : {0.0F, -3e38F, 3e38F, 1.5F}) EXPECT_EQ(softmax<float>({value})[0], 1.0F);
  EXPECT_EQ(log_softmax<double>({-17.25})[0], 0.0);
}

TEST_P(SoftmaxKernelsTest, Infinities) {
  for_floats([]<class T>(T) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    for (const std::size_t n : {1UL, 5UL, 16UL, 33UL, 127UL, 128UL, 129UL}) {
      const std::vector<T> all_nan(n, nan);
      EXPECT_TRUE(same_bits(softmax(std::vector<T>(n, -inf)), all_nan));
      EXPECT_TRUE(same_bits(log_softmax(std::vector<T>(n, -inf)), all_nan));
      EXPECT_EQ(logsumexp(std::vector<T>(n, -inf)), -inf);
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<T> x = random_values<T>(static_cast<index_t>(n), 33);
        x[i] = nan;
        ASSERT_TRUE(same_bits(softmax(x), all_nan)) << "NaN at " << i << " of " << n;
        ASSERT_TRUE(same_bits(log_softmax(x), all_nan)) << "NaN at " << i << " of " << n;
        ASSERT_TRUE(std::isnan(logsumexp(x))) << "NaN at " << i << " of " << n;
        x[i] = inf;
        ASSERT_TRUE(same_bits(softmax(x), all_nan)) << "inf at " << i << " of " << n;
        ASSERT_EQ(logsumexp(x), inf) << "inf at " << i << " of " << n;
        std::vector<T> lone(n, -inf), one(n, 0);
        lone[i] = T{-4};
        one[i] = 1;
        ASSERT_TRUE(same_bits(softmax(lone), one)) << "the only finite one at " << i << " of " << n;
      }
    }
  });
}

TEST_P(SoftmaxKernelsTest, ScoresFarFromZeroNeitherOverflowNorVanish) {
  const std::vector<float> x = {3e38F, 3e38F, -3e38F, 0.0F};
  EXPECT_TRUE(same_bits<float>(softmax(x), {0.5F, 0.5F, 0.0F, 0.0F}));
  EXPECT_FLOAT_EQ(logsumexp<float>({1000.0F, 1000.0F}), 1000.0F + std::log(2.0F));
  EXPECT_TRUE(same_bits<float>(softmax<float>({-1000.0F, -1000.0F}), {0.5F, 0.5F}));
  EXPECT_FLOAT_EQ(logsumexp<float>({-1000.0F, -1000.0F}), -1000.0F + std::log(2.0F));
}

}  // namespace
}  // namespace tessera::test
