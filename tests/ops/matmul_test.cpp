#include "tessera/tensor/ops/matmul.h"

#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/linear.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

class MatmulTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, MatmulTest, each_isa(), isa_name);

struct MatmulCase {
  Shape a, b;
};

const MatmulCase kCases[] = {
    {{5}, {5}},                          // dot product
    {{5}, {5, 3}},                       // vector x matrix
    {{3, 5}, {5}},                       // matrix x vector
    {{5}, {2, 5, 3}},                    // vector x batch
    {{2, 3, 5}, {5}},                    // batch x vector
    {{1, 1}, {1, 1}},                    //
    {{3, 5}, {5, 4}},                    //
    {{7, 33}, {33, 65}},                 // past one tile
    {{2, 3, 5}, {5, 4}},                 // batch x matrix
    {{3, 5}, {2, 5, 4}},                 // matrix x batch
    {{2, 3, 5}, {2, 5, 4}},              //
    {{2, 1, 3, 5}, {1, 4, 5, 2}},        // both batches stretch
    {{4, 3, 5}, {2, 1, 5, 2}},           //
    {{2, 1, 2, 1, 2, 1, 3, 5}, {5, 2}},  // the largest number of axes
    {{3, 0}, {0, 4}},                    // sums of nothing
    {{0}, {0}},                          //
    {{2, 3, 0}, {0, 4}},                 //
    {{2, 3, 0}, {2, 0, 4}},              //
    {{0, 5}, {5, 4}},                    // no rows, columns, matrices
    {{3, 5}, {5, 0}},                    //
    {{0, 3, 5}, {5, 4}},                 //
    {{0, 3, 5}, {0, 5, 4}},              //
    {{0, 3, 5}, {1, 5, 4}},              //
};

/// Whole numbers have exact sums.
TEST_P(MatmulTest, FollowsItsDefinitionWithTheSameBitsInEveryLayout) {
  for (const bool whole : {true, false}) {
    for (DType dtype : {kFloat32, kFloat64, kInt64}) {
      const double error = whole || dtype == kInt64 ? 0 : 20 * tolerance(dtype);
      const auto layouts = [&](const Shape& shape, std::uint64_t seed) {
        return whole ? layouts_of(random_tensor(shape, kInt64, seed, -8, 9).to(dtype))
                     : random_layouts(shape, dtype, seed);
      };
      for (const MatmulCase& c : kCases) {
        for (const Layout& a : layouts(c.a, 1)) {
          for (const Layout& b : layouts(c.b, 2)) {
            const Tensor got = matmul(a.tensor, b.tensor);
            SCOPED_TRACE(str_cat(c.a, " x ", c.b, ", ", dtype, ", ", a.name, " x ", b.name));
            EXPECT_EQ(got.dtype(), dtype);
            EXPECT_TRUE(got.is_contiguous());
            ASSERT_TRUE(
                near(got, naive_matmul(array(a.tensor), array(b.tensor)), error, 2 * error));
            ASSERT_TRUE(same_bits(got, matmul(a.tensor.clone(), b.tensor.clone())));
          }
        }
      }
    }
  }
}

TEST_P(MatmulTest, NeitherThreadsNorBatchChangeTheBits) {
  const Tensor a = random_tensor({8, 3, 50, 70}, kFloat32, 5);
  const Tensor b = random_tensor({8, 3, 70, 40}, kFloat32, 6);
  const Tensor weight = random_tensor({300, 70}, kFloat32, 7);
  const Tensor want[] = {same_on_any_threads([&] { return matmul(a, b); }),
                         same_on_any_threads([&] { return matmul(a, weight.t()); })};
  for (index_t i = 0; i < 8; ++i) {
    const Tensor x = a.select(0, i);
    EXPECT_TRUE(same_bits(matmul(x, b.select(0, i)), want[0].select(0, i))) << i;
    EXPECT_TRUE(same_bits(matmul(x, weight.t()), want[1].select(0, i))) << i;
    EXPECT_TRUE(same_bits(matmul(x.select(0, 1).select(0, 2), weight.t()),
                          want[1].select(0, i).select(0, 1).select(0, 2)));
  }
}

// A thread that multiplies a whole matrix needs a larger buffer than one that shares it.
TEST_P(MatmulTest, EachOfManyMatricesHasRoomForItsBlocks) {
  const Tensor a = random_tensor({6, 282, 1024}, kFloat32, 8);
  const Tensor b = random_tensor({6, 1024, 144}, kFloat32, 9);
  set_thread_count(2);
  const Tensor got = matmul(a, b);
  set_thread_count(0);
  for (index_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(same_bits(got.select(0, i), matmul(a.select(0, i), b.select(0, i)))) << i;
  }
}

TEST_P(MatmulTest, PromotesMixedDtypes) {
  const Tensor whole = tensor({{1, 2}, {3, 4}});
  EXPECT_TRUE(same_bits(matmul(whole, tensor({0.5, 0.25})), tensor({1.0, 2.5})));
  EXPECT_TRUE(
      same_bits(matmul(tensor({0.5, 0.25}), tensor({1.0, 2.0}, kFloat64)), tensor(1.0, kFloat64)));
  EXPECT_TRUE(same_bits(matmul(tensor({true, true}), tensor({true, true})), tensor(2)));
  EXPECT_TRUE(same_bits(matmul(zeros({2, 0}, kBool), zeros({0, 3}, kBool)), zeros({2, 3}, kInt64)));
  EXPECT_TRUE(same_bits(matmul(zeros({0, 2}, kBool), zeros({2, 3}, kBool)), zeros({0, 3}, kInt64)));
}

TEST(Matmul, OfIntegersIsExactPastDoubles) {
  const index_t large = (index_t{1} << 53) + 1;
  EXPECT_EQ(matmul(tensor({large, index_t{2}}), tensor({3, 5})).item<index_t>(), 3 * large + 10);
}

TEST(Outer, IsEachProductOnce) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const auto& a : random_layouts({5}, dtype, 20)) {
      for (const auto& b : random_layouts({3}, dtype, 21)) {
        const Array left = array(a.tensor);
        const Array right = array(b.tensor);
        const Array want =
            build({5, 3}, [&](const Dims& i) { return left.at({i[0]}) * right.at({i[1]}); });
        const Tensor got = outer(a.tensor, b.tensor);
        EXPECT_TRUE(near(got, want, rounding(dtype))) << a.name << ", " << b.name;
        EXPECT_EQ(got.dtype(), dtype);
      }
    }
  }
  EXPECT_TRUE(same_bits(outer(tensor({1, 2}), tensor({0.5})), tensor({{0.5}, {1.0}})));
  EXPECT_EQ(outer(zeros({0}), zeros({4})).shape(), (Shape{0, 4}));
  fails("outer", {"(2, 2)", "(3,)"}, [] { outer(zeros({2, 2}), zeros({3})); });
  fails("outer", "()", [] { outer(zeros({2}), tensor(1.0)); });
  fails("outer", "undefined", [] { outer(Tensor(), zeros({2})); });
}

TEST(Matmul, NamesWhatIsWrong) {
  const auto error = [](const Shape& a, const Shape& b, const std::vector<std::string>& parts) {
    return throws("matmul", parts, [&] { matmul(zeros(a), zeros(b)); });
  };
  EXPECT_TRUE(error({8, 64}, {32, 64}, {"inner dimensions must be equal", "(8, 64) x (32, 64)"}));
  EXPECT_TRUE(error({3}, {4}, {"(3,) x (4,)"}));
  EXPECT_TRUE(error({3}, {4, 3}, {"(3,) x (4, 3)"}));
  EXPECT_TRUE(error({}, {3}, {"at least 1 axis"}));
  EXPECT_TRUE(error({3}, {}, {"at least 1 axis"}));
  EXPECT_TRUE(error({2, 3, 4}, {3, 4, 5}, {"(2,)", "(3,)", "broadcast"}));
  fails("matmul", "undefined", [] { matmul(Tensor(), zeros({1})); });
}

TEST_P(MatmulTest, LinearIsMatmulPlusBias) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor plain_weight = random_tensor({34, 19}, dtype, 8);
    for (const Shape& shape : {Shape{19}, Shape{5, 19}, Shape{2, 3, 19}, Shape{0, 19}}) {
      for (const Layout& x : random_layouts(shape, dtype, 9)) {
        for (const Layout& weight : layouts_of(plain_weight)) {
          for (const Layout& bias : random_layouts({34}, dtype, 10)) {
            SCOPED_TRACE(str_cat(shape, ", ", dtype, ", ", x.name, ", weight ", weight.name,
                                 ", bias ", bias.name));
            const Array product = naive_matmul(array(x.tensor), array(plain_weight.t()));
            const double slack = 40 * tolerance(dtype);
            const Tensor got = linear(x.tensor, weight.tensor, bias.tensor);
            ASSERT_TRUE(near(got, map(product, array(bias.tensor), std::plus<>()), slack, slack));
            ASSERT_TRUE(
                same_bits(got, linear(x.tensor.clone(), plain_weight, bias.tensor.clone())));
            ASSERT_TRUE(
                same_bits(linear(x.tensor, weight.tensor), matmul(x.tensor, plain_weight.t())));
          }
        }
      }
    }
  }
  EXPECT_TRUE(same_bits(linear(zeros({2, 0}), zeros({3, 0}), tensor({1.0, 2.0, 3.0})),
                        tensor({{1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}})));
}

TEST(Linear, NamesWhatIsWrong) {
  const Tensor weight = zeros({4, 3});
  fails("linear", {"(2, 4)", "(4, 3)"}, [&] { linear(zeros({2, 4}), weight); });
  fails("linear", {"()", "(4, 3)"}, [&] { linear(zeros({}), weight); });
  fails("linear", "int64", [&] { linear(zeros({2, 3}, kInt64), weight); });
  fails("linear", {"(3,)", "(4, 3)"}, [&] { linear(zeros({2, 3}), weight, zeros({3})); });
  fails("linear", "(3,)", [&] { linear(zeros({2, 3}), zeros({3})); });
  fails("linear", "float64", [&] { linear(zeros({2, 3}, kFloat64), weight); });
  fails("linear", "undefined", [&] { linear(Tensor(), weight); });
}

}  // namespace
}  // namespace tessera::test
