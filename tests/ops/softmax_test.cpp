#include "tessera/tensor/ops/softmax.h"

#include "tessera/tensor/error.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"
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

TEST_P(SoftmaxTest, TakesIntegersAsFloat32) {
  EXPECT_TRUE(same_bits(softmax(tensor({1, 2})), softmax(tensor({1.0, 2.0}))));
  EXPECT_TRUE(same_bits(logsumexp(tensor({true, false})), logsumexp(tensor({1.0, 0.0}))));
}

TEST(Softmax, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  fails("softmax", {"axis must be in [", "got 2"}, [&] { softmax(x, {2}); });
  fails("softmax", "twice", [&] { softmax(x, {1, -1}); });
  fails("log_softmax", {"axis must be in [", "got -3"}, [&] { log_softmax(x, {-3}); });
  fails("logsumexp", {"axis must be in [", "got 2"}, [&] { logsumexp(x, {2}); });
  fails("softmax", "undefined", [] { softmax(Tensor()); });
  fails("softmax", {"axis must be in [", "got -1"}, [] { softmax(tensor(1.0), {-1}); });
}

}  // namespace
}  // namespace tessera::test
