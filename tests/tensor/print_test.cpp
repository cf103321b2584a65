// Every expected text was printed by NumPy 1.24 for the same array.
#include "tessera/tensor/print.h"

#include "tessera/tensor/create.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor doubles(const Nested& values) {
  return tensor(values, kFloat64);
}

Tensor counting(index_t count, const Shape& shape, double divisor) {
  std::vector<double> values;
  for (index_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i) / divisor);
  return from_vector(values, shape);
}

PrintOptions suppressed() {
  return {.suppress = true};
}

TEST(Print, Vectors) {
  EXPECT_EQ(to_string(doubles({1.93662106, 6.68310531, 1.59506841})),
            "[1.93662106 6.68310531 1.59506841]");
  EXPECT_EQ(to_string(doubles({6.03366485e-06, 9.82007865e-01, 1.79861014e-02})),
            "[6.03366485e-06 9.82007865e-01 1.79861014e-02]");
  EXPECT_EQ(to_string(tensor({1, -10, 100})), "[  1 -10 100]");
  EXPECT_EQ(to_string(from_vector<index_t>({std::numeric_limits<index_t>::min(), 5})),
            "[-9223372036854775808                    5]");
  EXPECT_EQ(to_string(doubles({-0.0, 1.0})), "[-0.  1.]");
}

TEST(Print, Suppress) {
  const Tensor x = doubles({0.841470984807897, 0.99995000041, 0.0001, 1.0});
  EXPECT_EQ(to_string(x, suppressed()), "[0.84147098 0.99995    0.0001     1.        ]");
  EXPECT_EQ(to_string(x), "[8.41470985e-01 9.99950000e-01 1.00000000e-04 1.00000000e+00]");
  EXPECT_EQ(to_string(doubles({1e-9, 6e-9, -1e-10, 1.0}), suppressed()),
            "[ 0.          0.00000001 -0.          1.        ]");
  EXPECT_EQ(to_string(doubles({1e8, 1.0}), suppressed()), "[1.e+08 1.e+00]");
}

TEST(Print, ChoiceOfExponent) {
  EXPECT_EQ(to_string(doubles({1e8, 1.0})), "[1.e+08 1.e+00]");
  EXPECT_EQ(to_string(doubles({99999999.0, 100000.0})), "[99999999.   100000.]");
  EXPECT_EQ(to_string(doubles({1000.0, 1.0})), "[1000.    1.]");
  EXPECT_EQ(to_string(doubles({1000.1, 1.0})), "[1.0001e+03 1.0000e+00]");
  EXPECT_EQ(to_string(doubles({1e-4, 0.05})), "[0.0001 0.05  ]");
  EXPECT_EQ(to_string(tensor({1e-4, 0.05})), "[1.e-04 5.e-02]");  // 1e-4f is a little less
  EXPECT_EQ(to_string(doubles({5e-324, 1.0})), "[5.e-324 1.e+000]");
}

TEST(Print, Precision) {
  EXPECT_EQ(to_string(doubles({1.0 / 3, 2.0 / 3, 0.5}), {.precision = 3}), "[0.333 0.667 0.5  ]");
  EXPECT_EQ(to_string(doubles({0.5, 1.5, 2.5}), {.precision = 0}), "[0. 2. 2.]");
  EXPECT_EQ(to_string(doubles({0x1p-569, 3.677245887913336e-186}), {.precision = 15}),
            "[5.175263503298810e-172 3.677245887913336e-186]");
}

TEST(Print, Float32HasItsOwnShortestDigits) {
  EXPECT_EQ(to_string(tensor({1.0, 2.5})), "[1.  2.5]");
  EXPECT_EQ(to_string(tensor({0.1, 1.23456789e-6})), "[1.0000000e-01 1.2345679e-06]");
  EXPECT_EQ(to_string(tensor({38720620.0, 83483784.0, 84917288.0})),
            "[38720620. 83483784. 84917288.]");
  EXPECT_EQ(to_string(counting(6, {2, 3}, 7).to(kFloat32)),
            "[[0.         0.14285715 0.2857143 ]\n [0.42857143 0.5714286  0.71428573]]");
}

TEST(Print, NanAndInf) {
  EXPECT_EQ(to_string(doubles({{kNan, 1.5}, {-kInf, kInf}})), "[[ nan  1.5]\n [-inf  inf]]");
  EXPECT_EQ(to_string(doubles({kNan, -kInf})), "[ nan -inf]");
  EXPECT_EQ(to_string(doubles({1e-10, kNan, -kInf})), "[1.e-10    nan   -inf]");
  EXPECT_EQ(to_string(doubles({kNan, 1.0})), "[nan  1.]");
}

TEST(Print, Matrices) {
  EXPECT_EQ(to_string(doubles({{2, 4, 4}, {4, 16, 12}, {4, 12, 10}})),
            "[[ 2.  4.  4.]\n [ 4. 16. 12.]\n [ 4. 12. 10.]]");
  EXPECT_EQ(to_string(tensor({{true, false}, {false, true}})), "[[ True False]\n [False  True]]");
  EXPECT_EQ(to_string(counting(12, {2, 2, 1, 3}, 1)), R"([[[[ 0.  1.  2.]]

  [[ 3.  4.  5.]]]


 [[[ 6.  7.  8.]]

  [[ 9. 10. 11.]]]])");
}

TEST(Print, ViewsPrintTheirElements) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(to_string(x.t()), "[[1 4]\n [2 5]\n [3 6]]");
  EXPECT_EQ(to_string(x.slice(1, {}, {}, -2)), "[[3 1]\n [6 4]]");
  EXPECT_EQ(to_string(x.select(0, 1).expand({2, 3})), "[[4 5 6]\n [4 5 6]]");
}

TEST(Print, Wrapping) {
  const Tensor x = counting(20, {20}, 7);
  EXPECT_EQ(to_string(x), R"([0.         0.14285714 0.28571429 0.42857143 0.57142857 0.71428571
 0.85714286 1.         1.14285714 1.28571429 1.42857143 1.57142857
 1.71428571 1.85714286 2.         2.14285714 2.28571429 2.42857143
 2.57142857 2.71428571])");
  EXPECT_EQ(to_string(x.slice(0, 6, 10), {.linewidth = 30}), R"([0.85714286 1.
 1.14285714 1.28571429])");
  EXPECT_EQ(to_string(counting(3, {3}, 1), {.linewidth = 3}), "[0.\n 1.\n 2.]");
}

TEST(Print, Elision) {
  EXPECT_EQ(to_string(counting(1536, {3, 512}, 1024)),
            R"([[0.00000000e+00 9.76562500e-04 1.95312500e-03 ... 4.97070312e-01
  4.98046875e-01 4.99023438e-01]
 [5.00000000e-01 5.00976562e-01 5.01953125e-01 ... 9.97070312e-01
  9.98046875e-01 9.99023438e-01]
 [1.00000000e+00 1.00097656e+00 1.00195312e+00 ... 1.49707031e+00
  1.49804688e+00 1.49902344e+00]])");
  EXPECT_EQ(to_string(arange(2001)), "[   0    1    2 ... 1998 1999 2000]");
  EXPECT_EQ(to_string(arange(125).reshape({5, 5, 5}), {.threshold = 10, .edgeitems = 1}),
            R"([[[  0 ...   4]
  ...
  [ 20 ...  24]]

 ...

 [[100 ... 104]
  ...
  [120 ... 124]]])");
}

TEST(Print, WidthsComeFromTheShownElementsOnly) {
  Tensor x = zeros({2000}, kFloat64);
  x.slice(0, 1000, 1001).fill(1e30);
  EXPECT_EQ(to_string(x), "[0. 0. 0. ... 0. 0. 0.]");
}

TEST(Print, ScalarsHaveAllTheirDigits) {
  EXPECT_EQ(to_string(doubles(0.1)), "0.1");
  EXPECT_EQ(to_string(doubles(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(to_string(doubles(123456789.123456789)), "123456789.12345679");
  EXPECT_EQ(to_string(doubles(1e-5)), "1e-05");
  EXPECT_EQ(to_string(doubles(1.2345678901234568e+17)), "1.2345678901234568e+17");
  EXPECT_EQ(to_string(doubles(1e15)), "1000000000000000.0");
  EXPECT_EQ(to_string(doubles(1e16)), "1e+16");
  EXPECT_EQ(to_string(doubles(-0.0)), "-0.0");
  EXPECT_EQ(to_string(doubles(kNan)), "nan");
  EXPECT_EQ(to_string(doubles(-kInf)), "-inf");
  EXPECT_EQ(to_string(tensor(1e15)), "1000000000000000.0");  // 999999986991104 as float32
  EXPECT_EQ(to_string(tensor(0.1)), "0.1");
  EXPECT_EQ(to_string(tensor(7)), "7");
  EXPECT_EQ(to_string(tensor(true)), "True");
}

TEST(Print, NoElements) {
  EXPECT_EQ(to_string(zeros({0})), "[]");
  EXPECT_EQ(to_string(zeros({2, 0, 3})), "[]");
  EXPECT_EQ(to_string(Tensor()), "undefined");
}

TEST(Repr, CommasAndDtype) {
  EXPECT_EQ(repr(doubles({{2, 4, 4}, {4, 16, 12}})),
            "array([[ 2.,  4.,  4.],\n       [ 4., 16., 12.]])");
  EXPECT_EQ(repr(tensor({1, 2})), "array([1, 2])");
  EXPECT_EQ(repr(tensor({true, false})), "array([ True, False])");
  EXPECT_EQ(repr(tensor({1.0, 2.5})), "array([1. , 2.5], dtype=float32)");
  EXPECT_EQ(repr(counting(6, {2, 3}, 7).to(kFloat32), {.linewidth = 37}),
            R"(array([[0.        , 0.14285715,
        0.2857143 ],
       [0.42857143, 0.5714286 ,
        0.71428573]], dtype=float32))");
  EXPECT_EQ(repr(counting(6, {2, 3}, 7).to(kFloat32), {.linewidth = 35}),
            R"(array([[0.        , 0.14285715,
        0.2857143 ],
       [0.42857143, 0.5714286 ,
        0.71428573]],
      dtype=float32))");
}

TEST(Repr, Elision) {
  EXPECT_EQ(repr(arange(2001)), "array([   0,    1,    2, ..., 1998, 1999, 2000])");
  EXPECT_EQ(repr(counting(16, {4, 4}, 1), {.threshold = 10, .edgeitems = 1}),
            "array([[ 0., ...,  3.],\n       ...,\n       [12., ..., 15.]])");
}

TEST(Repr, ScalarsAndNoElements) {
  EXPECT_EQ(repr(doubles(3.0)), "array(3.)");
  EXPECT_EQ(repr(doubles(1.0 / 3)), "array(0.33333333)");
  EXPECT_EQ(repr(tensor(true)), "array(True)");
  EXPECT_EQ(repr(tensor(0.1)), "array(0.1, dtype=float32)");
  EXPECT_EQ(repr(zeros({0}, kFloat64)), "array([], dtype=float64)");
  EXPECT_EQ(repr(zeros({0, 3})), "array([], shape=(0, 3), dtype=float32)");
  EXPECT_EQ(repr(zeros({2, 0, 3}, kBool)), "array([], shape=(2, 0, 3), dtype=bool)");
}

TEST(Print, StreamsAsToString) {
  std::ostringstream out;
  out << tensor({1, 2});
  EXPECT_EQ(out.str(), "[1 2]");
}

TEST(Print, RefusesBadOptions) {
  EXPECT_THROW(to_string(zeros({2}), {.precision = -1}), std::invalid_argument);
  EXPECT_THROW(repr(zeros({2}), {.edgeitems = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
