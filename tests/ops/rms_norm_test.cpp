#include <cmath>
#include <limits>

#include "tensor/autograd/tape.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/layer_norm.h"
#include "tensor/ops/reduce.h"
#include "tests/support/errors.h"
#include "tests/support/golden.h"
#include "tests/support/oracle_ops.h"

namespace tessera::test {
namespace {

class RmsNormTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, RmsNormTest, each_isa(), isa_name);

/// The definition, with a weight over the last axes, or undefined.
Array naive_rms_norm(const Tensor& x, const Shape& normalized, const Tensor& weight, double eps) {
  Axes axes;
  for (index_t axis = x.rank() - normalized.size(); axis < x.rank(); ++axis) axes.push_back(axis);
  const Array y = naive_rms_normalize(array(x), axes, eps);
  return weight.defined() ? map(y, array(weight), std::multiplies<>()) : y;
}

TEST_P(RmsNormTest, AgreesWithTheDefinition) {
  const struct {
    Shape shape, normalized;
  } cases[] = {{{1}, {1}},         {{5, 1}, {1}},         {{4, 7}, {7}},          {{3, 16}, {16}},
               {{2, 3, 33}, {33}}, {{2, 3, 33}, {3, 33}}, {{2, 3, 4}, {2, 3, 4}}, {{0, 4}, {4}},
               {{4, 0}, {0}}};
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const auto& [shape, normalized] : cases) {
      const Tensor weight = random_tensor(normalized, dtype, 2);
      for (const Layout& x : random_layouts(shape, dtype, 1)) {
        for (const Tensor& w : {weight, Tensor()}) {
          SCOPED_TRACE(str_cat(x.name, ", shape ", shape, ", over ", normalized, ", ", dtype,
                               ", weight ", w.defined()));
          const Tensor got = rms_norm(x.tensor, normalized, w, 1e-3);
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_TRUE(got.is_contiguous());
          EXPECT_TRUE(near(got, naive_rms_norm(x.tensor, normalized, w, 1e-3),
                           10 * tolerance(dtype), 10 * tolerance(dtype)));
          EXPECT_TRUE(same_bits(got, rms_norm(x.tensor.clone(), normalized, w, 1e-3)));
        }
      }
    }
  }
}

TEST_P(RmsNormTest, TakesItsAxesFromTheWeight) {
  const Tensor x = random_tensor({2, 3, 5}, kFloat32, 4);
  const Tensor matrix = random_tensor({3, 5}, kFloat32, 5);
  EXPECT_TRUE(same_bits(rms_norm(x, matrix), rms_norm(x, {3, 5}, matrix)));
  EXPECT_TRUE(same_bits(rms_norm(x), rms_norm(x, {5}, {})));
  for (const Layout& weight : random_layouts({3, 5}, kFloat32, 7)) {
    EXPECT_TRUE(same_bits(rms_norm(x, weight.tensor), rms_norm(x, weight.tensor.clone())))
        << weight.name;
  }
}

TEST_P(RmsNormTest, NeitherThreadsNorNeighboursNorATapeChangeTheBits) {
  const Tensor x = random_tensor({301, 257}, kFloat32, 13);
  const Tensor weight = random_tensor({257}, kFloat32, 14);
  set_thread_count(1);
  const Tensor want = rms_norm(x, weight);
  for (int threads : {2, 3, 4, 7, 8}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(rms_norm(x, weight), want)) << threads;
  }
  set_thread_count(0);
  for (index_t i = 0; i < 301; i += 30) {
    EXPECT_TRUE(same_bits(rms_norm(x.select(0, i), weight), want.select(0, i))) << i;
  }
  const Tensor variable = x.clone().set_requires_grad();
  Tape tape;
  EXPECT_TRUE(same_bits(rms_norm(variable, weight).detach(), want));
}

TEST_P(RmsNormTest, NanAndInfinityStayInTheirRow) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    for (index_t i = 0; i < 21; ++i) {
      Tensor x = random_tensor({2, 21}, kFloat32, 12);
      const Tensor untouched = rms_norm(x.select(0, 1));
      x.select(0, 0).slice(0, i, i + 1).fill(bad);
      const std::vector<float> got = rms_norm(x).select(0, 0).to_vector<float>();
      for (std::size_t j = 0; j < got.size();
           ++j) {  // infinity over infinity; others over infinity
        const bool is_nan = std::isnan(bad) || static_cast<index_t>(j) == i;
        EXPECT_TRUE(is_nan ? std::isnan(got[j]) : got[j] == 0) << i << ", " << j;
      }
      EXPECT_TRUE(same_bits(rms_norm(x).select(0, 1), untouched));
    }
  }
}

TEST_P(RmsNormTest, AgreesWithPyTorch) {
  const GoldenCase golden("rms_norm");
  const struct {
    const char* name;
    double eps;
  } cases[] = {{"plain", 1e-6}, {"weight", 1e-6}, {"eps", 1e-3}, {"two_axes", 1e-6}};
  for (const auto& [name, eps] : cases) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      const double allowed = dtype == kFloat32 ? 1e-5 : 1e-12;
      auto operands = golden.group(std::string(name) + ".", dtype);
      Tensor& x = operands.at("input");
      Tensor& weight = operands["weight"];
      x.set_requires_grad();
      if (weight.defined()) weight.set_requires_grad();
      Tape tape;
      const Tensor y = rms_norm(x, weight, eps);
      EXPECT_TRUE(near(y, array(operands.at("output")), allowed, allowed));
      tape.backward(sum(y * operands.at("dy")));
      EXPECT_TRUE(near(x.grad(), array(operands.at("dinput")), allowed, allowed));
      if (!weight.defined()) continue;
      EXPECT_TRUE(near(weight.grad(), array(operands.at("dweight")), allowed, allowed));
    }
  }
}

TEST(RmsNorm, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(throws("rms_norm", {"(2, 3)", "(4,)"}, [&] { rms_norm(x, zeros({4})); }));
  EXPECT_TRUE(throws("rms_norm", {"weight must have shape (3,)", "(1,)"},
                     [&] { rms_norm(x, {3}, zeros({1})); }));
  EXPECT_TRUE(throws("rms_norm", {"weight must be float32", "got float64"},
                     [&] { rms_norm(x, zeros({3}, kFloat64)); }));
  EXPECT_TRUE(throws("rms_norm", {"int64"}, [] { rms_norm(tensor({1, 2})); }));
  EXPECT_TRUE(throws("rms_norm", {"()"}, [] { rms_norm(tensor(1.0)); }));
  EXPECT_TRUE(throws("rms_norm", {"float32"}, [] { rms_norm(Tensor()); }));
  for (const double eps : {-1.0, std::nan("")}) {
    EXPECT_TRUE(
        throws("rms_norm", {"eps must be at least 0, got"}, [&] { rms_norm(x, Tensor(), eps); }));
  }
}

}  // namespace
}  // namespace tessera::test
