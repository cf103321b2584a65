#include "tensor/ops/softmax.h"

#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

class SoftmaxTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, SoftmaxTest, each_isa(), isa_name);

struct Case {
  Shape shape;
  Axes axes;      // as given to the op
  Axes positive;  // the same, counted from the front
};

const Case kCases[] = {
    {{}, {}, {}},
    {{1}, {0}, {0}},
    {{37}, {}, {0}},
    {{4, 6}, {}, {0, 1}},
    {{4, 6}, {-1}, {1}},
    {{4, 6}, {0}, {0}},
    {{3, 1, 17}, {1}, {1}},
    {{3, 5, 33}, {-1}, {2}},
    {{3, 5, 33}, {1}, {1}},
    {{3, 5, 7}, {0}, {0}},
    {{3, 5, 33}, {2, 0}, {0, 2}},
    {{3, 5, 33}, {-1, -2}, {1, 2}},
    {{2, 3, 4, 5}, {1, -1}, {1, 3}},
    {{0}, {0}, {0}},
    {{3, 0}, {0}, {0}},
    {{3, 0}, {1}, {1}},
    {{0, 3}, {}, {0, 1}},
};

/// Compares op(x, axes) with the oracle, and checks that the bits do not depend on the layout.
template <class Op, class Oracle>
void expect_agreement(const Op& op, const Oracle& oracle, double absolute) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const Case& c : kCases) {
      for (const Layout& x : random_layouts(c.shape, dtype, 1, -6, 6)) {
        SCOPED_TRACE(str_cat(x.name, ", shape ", c.shape, ", axes ", c.axes, ", ", dtype));
        const Tensor got = op(x.tensor, c.axes);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_TRUE(got.is_contiguous());
        EXPECT_TRUE(near(got, oracle(array(x.tensor), c.positive), 4 * tolerance(dtype),
                         absolute * tolerance(dtype)));
        EXPECT_TRUE(same_bits(got, op(x.tensor.clone(), c.axes)));
      }
    }
  }
}

TEST_P(SoftmaxTest, AgreesWithTheDefinition) {
  expect_agreement([](const Tensor& x, const Axes& axes) { return softmax(x, axes); },
                   naive_softmax, 0);
}

TEST_P(SoftmaxTest, LogSoftmaxAgreesWithTheDefinition) {
  expect_agreement([](const Tensor& x, const Axes& axes) { return log_softmax(x, axes); },
                   naive_log_softmax, 10);
}

TEST_P(SoftmaxTest, LogsumexpAgreesWithTheDefinition) {
  for (bool keepdim : {false, true}) {
    expect_agreement(
        [&](const Tensor& x, const Axes& axes) { return logsumexp(x, axes, keepdim); },
        [&](const Array& x, const Axes& axes) { return naive_logsumexp(x, axes, keepdim); }, 10);
  }
}

TEST_P(SoftmaxTest, TheAxisDoesNotChangeTheBits) {
  const Tensor x = random_tensor({7, 50, 3}, kFloat32, 2);
  EXPECT_TRUE(same_bits(softmax(x, {1}), softmax(x.transpose(1, 2)).transpose(1, 2)));
  EXPECT_TRUE(same_bits(logsumexp(x, {0}), logsumexp(x.permute({1, 2, 0}))));
}

TEST_P(SoftmaxTest, TheNumberOfThreadsDoesNotChangeTheBits) {
  const Tensor x = random_tensor({123, 1000}, kFloat32, 3, -8, 8);
  same_on_any_threads([&] { return softmax(x); });
  same_on_any_threads([&] { return softmax(x, {0}); });
  same_on_any_threads([&] { return log_softmax(x); });
  same_on_any_threads([&] { return logsumexp(x); });
}

TEST_P(SoftmaxTest, ARowAloneHasTheBitsItHasAmongOthers) {
  const Tensor x = random_tensor({9, 77}, kFloat32, 4);
  for (index_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(same_bits(softmax(x.select(0, i)), softmax(x).select(0, i)));
    EXPECT_TRUE(same_bits(log_softmax(x.select(0, i)), log_softmax(x).select(0, i)));
    EXPECT_TRUE(same_bits(logsumexp(x.select(0, i)), logsumexp(x).select(0, i)));
  }
}

TEST_P(SoftmaxTest, NothingButMinusInfinityIsNan) {
  const Tensor x = tensor({{-kInf, -kInf}, {0.0, -kInf}});
  EXPECT_TRUE(exactly(softmax(x), {{2, 2}, {kNaN, kNaN, 1, 0}}));
  EXPECT_TRUE(exactly(log_softmax(x), {{2, 2}, {kNaN, kNaN, 0, -kInf}}));
  EXPECT_TRUE(exactly(logsumexp(x), {{2}, {-kInf, 0}}));
  EXPECT_TRUE(exactly(softmax(tensor(-kInf), {}), {{}, {kNaN}}));
}

TEST_P(SoftmaxTest, DoesNotOverflow) {
  EXPECT_TRUE(exactly(softmax(tensor({1e4, 1e4})), {{2}, {0.5, 0.5}}));
  EXPECT_TRUE(exactly(softmax(tensor({-1e30, 1e30})), {{2}, {0, 1}}));
  EXPECT_TRUE(near(logsumexp(tensor({1e4, 1e4})), {{}, {1e4 + std::log(2)}}, 1e-7));
  EXPECT_TRUE(near(log_softmax(tensor({0.0, 1e4})), {{2}, {-1e4, 0}}, 1e-7));
}

TEST_P(SoftmaxTest, TakesIntegersAsFloat32) {
  EXPECT_TRUE(same_bits(softmax(tensor({1, 2})), softmax(tensor({1.0, 2.0}))));
  EXPECT_TRUE(same_bits(logsumexp(tensor({true, false})), logsumexp(tensor({1.0, 0.0}))));
}

TEST(Softmax, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(throws("softmax", {"axis must be in [", "got 2"}, [&] { softmax(x, {2}); }));
  EXPECT_TRUE(throws("softmax", {"twice"}, [&] { softmax(x, {1, -1}); }));
  EXPECT_TRUE(
      throws("log_softmax", {"axis must be in [", "got -3"}, [&] { log_softmax(x, {-3}); }));
  EXPECT_TRUE(throws("logsumexp", {"axis must be in [", "got 2"}, [&] { logsumexp(x, {2}); }));
  EXPECT_TRUE(throws("softmax", {"undefined"}, [] { softmax(Tensor()); }));
  EXPECT_TRUE(
      throws("softmax", {"axis must be in [", "got -1"}, [] { softmax(tensor(1.0), {-1}); }));
}

}  // namespace
}  // namespace tessera::test
