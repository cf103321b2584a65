#include "tessera/tensor/ops/linear.h"

#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

class GatedLinearTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, GatedLinearTest, each_isa(), isa_name);

const std::map<std::string, Activation> kActivations = {{"bilinear", Activation::kNone},
                                                        {"reglu", Activation::kRelu},
                                                        {"geglu", Activation::kGelu},
                                                        {"geglu_tanh", Activation::kGeluTanh},
                                                        {"swiglu", Activation::kSilu}};

/// The separate ops.
Tensor separate(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  const std::vector<Tensor> halves = linear(x, weight, bias).chunk(2, -1);
  return nn::activate(activation, halves[0]) * halves[1];
}

TEST_P(GatedLinearTest, HasTheBitsOfTheSeparateOps) {
  for (const auto& [name, activation] : kActivations) {
    for (DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      const Tensor weight = random_tensor({74, 400}, dtype, 2);
      for (const Shape& shape : {Shape{400}, Shape{5, 400}, Shape{2, 3, 400}, Shape{2, 0, 400}}) {
        for (const Layout& x : random_layouts(shape, dtype, 1)) {
          EXPECT_TRUE(same_bits(gated_linear(x.tensor, weight, {}, activation),
                                separate(x.tensor, weight, {}, activation)))
              << x.name << " " << shape;
        }
      }
      for (const Layout& bias : random_layouts({74}, dtype, 3)) {
        const Tensor x = random_tensor({2, 13, 400}, dtype, 1);
        const Tensor want = separate(x, weight, bias.tensor, activation);
        EXPECT_TRUE(same_bits(gated_linear(x, weight, bias.tensor, activation), want));
        EXPECT_TRUE(
            same_bits(gated_linear(x, Weight::gated(weight), bias.tensor, activation), want));
      }
      for (const Layout& layout : layouts_of(weight)) {
        const Tensor x = random_tensor({3, 400}, dtype, 1);
        EXPECT_TRUE(same_bits(gated_linear(x, Weight::gated(layout.tensor), {}, activation),
                              separate(x, weight, {}, activation)))
            << layout.name;
      }
    }
  }
}

/// The gradients of x, weight and bias for the loss sum(y * dy), of n columns.
std::vector<Tensor> gradients_of(bool fused, Activation activation, DType dtype, index_t n) {
  const Tensor x = random_tensor({2, 19, 40}, dtype, 1).set_requires_grad();
  const Tensor weight = random_tensor({2 * n, 40}, dtype, 2).set_requires_grad();
  const Tensor bias = random_tensor({2 * n}, dtype, 3).set_requires_grad();
  const Tensor dy = random_tensor({2, 19, n}, dtype, 4);
  Tape tape;
  const Tensor y =
      fused ? gated_linear(x, weight, bias, activation) : separate(x, weight, bias, activation);
  tape.backward(sum(y * dy));
  return {x.grad(), weight.grad(), bias.grad()};
}

TEST_P(GatedLinearTest, GradientsHaveTheBitsOfTheSeparateOps) {
  for (const auto& [name, activation] : kActivations) {
    for (DType dtype : {kFloat32, kFloat64}) {
      for (const auto& [n, threads] : {std::pair{1, 1}, {16, 2}, {37, 3}, {37, 8}, {513, 4}}) {
        set_thread_count(threads);
        const std::vector<Tensor> want = gradients_of(false, activation, dtype, n);
        const std::vector<Tensor> got = gradients_of(true, activation, dtype, n);
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(same_bits(got[i], want[i]))
              << str_cat(name, ", ", dtype, ", input ", i, ", n ", n, ", ", threads, " threads");
        }
      }
      set_thread_count(0);
    }
  }
}

TEST_P(GatedLinearTest, AgreesWithPyTorch) {
  const GoldenCase golden("gated");
  for (const std::string end : {"", "_no_bias"}) {
    for (const auto& [name, activation] : kActivations) {
      if (!golden.has(name + end + ".input")) continue;
      const auto f = [activation = activation](GoldenOperands& o) {
        return gated_linear(o["input"], o["weight"], o["bias"], activation);
      };
      EXPECT_TRUE(agrees(golden, name + end, kFloat32, f, 1e-5));
      EXPECT_TRUE(agrees(golden, name + end, kFloat64, f, 1e-12));
    }
  }
}

TEST(GatedLinear, OfNoRowsNoColumnsAndNoInputs) {
  EXPECT_EQ(gated_linear(zeros({0, 3}), zeros({4, 3}), {}, Activation::kGelu).shape(),
            (Shape{0, 2}));
  EXPECT_EQ(gated_linear(zeros({2, 3}), zeros({0, 3}), {}, Activation::kGelu).shape(),
            (Shape{2, 0}));
  const Tensor bias = tensor({1.0, -2.0, 3.0, 5.0});
  EXPECT_TRUE(same_bits(gated_linear(zeros({1, 0}), zeros({4, 0}), bias, Activation::kRelu),
                        tensor({{3.0, 0.0}}) + tensor({{0.0, -0.0}})));
}

TEST(GatedLinear, RefusesAnActivationThatIsNone) {
  const Tensor x = zeros({2, 3});
  const auto none = static_cast<Activation>(77);
  fails("gated_linear", {"activation must be", "got 77"}, [&] {
    gated_linear(x, zeros({4, 3}), {}, none);
  });
  fails("linear", {"activation must be", "got 77"}, [&] { linear(x, zeros({4, 3}), {}, none); });
}

TEST(GatedLinear, NamesWhatIsWrong) {
  const auto error = [](std::vector<std::string> parts, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    return throws("gated_linear", parts, [&] { gated_linear(x, weight, bias, Activation::kSilu); });
  };
  EXPECT_TRUE(error({"(2, 3)", "(4, 5)"}, zeros({2, 3}), zeros({4, 5}), {}));
  EXPECT_TRUE(error({"(5, 3)", "even"}, zeros({2, 3}), zeros({5, 3}), {}));
  EXPECT_TRUE(error({"bias must be float32 (4,)", "(2,)", "(4, 3)"}, zeros({2, 3}), zeros({4, 3}),
                    zeros({2})));
  EXPECT_TRUE(error({"float64", "float32"}, zeros({2, 3}), zeros({4, 3}, kFloat64), {}));
  EXPECT_TRUE(error({"bias must be float32", "got float64"}, zeros({2, 3}), zeros({4, 3}),
                    zeros({4}, kFloat64)));
  EXPECT_TRUE(error({"int64"}, zeros({2, 3}, kInt64), zeros({4, 3}, kInt64), {}));
  EXPECT_TRUE(error({"undefined"}, Tensor(), zeros({4, 3}), {}));
}

}  // namespace
}  // namespace tessera::test
