#include "tessera/tensor/format.h"

#include <cmath>
#include <limits>

#include "tests/support/test.h"

namespace tessera {
namespace {

TEST(Format, Numbers) {
  EXPECT_EQ(shortest(0.1F), "0.1");
  EXPECT_EQ(shortest(double{0.1F}), "0.10000000149011612");
  EXPECT_EQ(shortest(12.0), "12");
  EXPECT_EQ(shortest(1e-7F), "1e-07");
  EXPECT_EQ(decimals(2.0 / 3, 2), "0.67");
  EXPECT_EQ(decimals(-0.125, 0), "-0");
  EXPECT_EQ(decimals(1e300, 1).size(), 303U);
  EXPECT_EQ(decimals(1, 500).size(), 502U);
  EXPECT_EQ(decimals(-std::numeric_limits<double>::infinity(), 3), "-inf");
  const double nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0);
  EXPECT_EQ(shortest(static_cast<float>(nan)), "nan");
  EXPECT_EQ(shortest(nan), "nan");
  EXPECT_EQ(decimals(nan, 3), "nan");
  EXPECT_EQ(significant(nan, 3), "nan");
  EXPECT_EQ(significant(2.0 / 3, 4), "0.6667");
  EXPECT_EQ(significant(1.5e-7, 4), "1.5e-07");
  EXPECT_EQ(significant(1234567, 6), "1.23457e+06");
}

TEST(Format, ScalarsAsPythonWritesThem) {
  EXPECT_EQ(format_scalar(3338868992.0F), "3338869000.0");
  EXPECT_EQ(format_scalar(3338868992.0), "3338868992.0");
  EXPECT_EQ(format_scalar(-0.0), "-0.0");
  EXPECT_EQ(format_scalar(1e-5), "1e-05");
  EXPECT_EQ(format_scalar(1.5e16), "1.5e+16");
  EXPECT_EQ(format_scalar(9999999999999998.0), "9999999999999998.0");
}

TEST(Format, Columns) {
  EXPECT_EQ(in_columns({{"name", "n"}, {"a", "100"}, {"", ""}}, 1), "name    n\na     100\n\n");
  EXPECT_EQ(in_columns({}, 1), "");
}

}  // namespace
}  // namespace tessera
