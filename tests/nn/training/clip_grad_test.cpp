#include "tessera/nn/training/clip_grad.h"

#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using nn::clip_grad_norm;
using nn::Parameters;

Tensor with_gradient(const Tensor& gradient) {
  Tensor x = zeros(gradient.shape(), gradient.dtype());
  x.set_requires_grad();
  Tape tape;
  tape.backward(sum(x * gradient));
  return x;
}

/// Parameters of both dtypes, one of more than one block, one without a gradient.
Parameters parameters() {
  Tensor idle = ones({5});
  idle.set_requires_grad();
  return {{"a", with_gradient(random_tensor({7}, kFloat32, 1))},
          {"b", with_gradient(random_tensor({300, 301}, kFloat32, 2))},
          {"idle", idle},
          {"c", with_gradient(random_tensor({16385}, kFloat64, 3))},
          {"d", with_gradient(random_tensor({}, kFloat64, 4))}};
}

double naive_norm(const Parameters& of) {
  double total = 0;
  for (const auto& [name, x] : of) {
    if (!x.grad().defined()) continue;
    for (const double g : array(x.grad()).values) total += g * g;
  }
  return std::sqrt(total);
}

TEST(ClipGradNorm, ReturnsTheNormAndCutsBackToTheLargestOne) {
  const Parameters of = parameters();
  const double norm = naive_norm(of);
  std::vector<Array> before;
  for (const auto& [name, x] : of) before.push_back(x.grad().defined() ? array(x.grad()) : Array());
  EXPECT_NEAR(clip_grad_norm(of, 2.5), norm, 1e-12 * norm);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i].name == "idle") continue;
    const Array want = map(before[i], [&](double g) { return g * (2.5 / (norm + 1e-6)); });
    EXPECT_TRUE(near(of[i].tensor.grad(), want, 2e-7)) << of[i].name;
  }
  EXPECT_NEAR(naive_norm(of), 2.5, 1e-6);
}

TEST(ClipGradNorm, TheSameBitsUnderAnyNumberOfThreads) {
  const Parameters want = parameters();
  set_thread_count(1);
  const double norm = clip_grad_norm(want, 1);
  for (const int threads : {2, 3, 4, 7, 8}) {
    set_thread_count(threads);
    const Parameters got = parameters();
    EXPECT_EQ(clip_grad_norm(got, 1), norm) << threads << " threads";
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i].name == "idle") continue;
      EXPECT_TRUE(same_bits(got[i].tensor.grad(), want[i].tensor.grad())) << got[i].name;
    }
  }
  set_thread_count(0);
}

TEST(ClipGradNorm, LeavesSmallGradientsAsTheyAre) {
  const Tensor x = with_gradient(tensor({3.0, 4.0}));
  EXPECT_EQ(clip_grad_norm({{"x", x}}, 5.1), 5);
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(clip_grad_norm(Parameters{}, 1), 0);
}

TEST(ClipGradNorm, OverAllGroupsOfAnOptimizer) {
  const Tensor x = with_gradient(tensor({3.0}));
  const Tensor y = with_gradient(tensor({4.0}));
  const nn::SGD optimizer({{.parameters = {{"x", x}}}, {.parameters = {{"y", y}}}});
  EXPECT_EQ(clip_grad_norm(optimizer.parameters(), 2.5), 5);
  EXPECT_NEAR(x.grad().item(), 1.5, 1e-6);
  EXPECT_NEAR(y.grad().item(), 2, 1e-6);
}

TEST(ClipGradNorm, LargeGradientsDoNotOverflow) {
  const Tensor x = with_gradient(tensor({3e30, 4e30}));
  EXPECT_NEAR(clip_grad_norm({{"x", x}}, 1) / 5e30, 1, 1e-6);
  EXPECT_NEAR(x.grad().item_at({1}), 0.8, 1e-6);
}

TEST(ClipGradNorm, NormsThatAreNotFinite) {
  const auto gradient = [](double g) {
    Tensor x = with_gradient(tensor({1.0, 1.0}));
    x.grad().slice(0, 0, 1).fill(g);
    return x;
  };
  const Tensor infinite = gradient(kInf);
  EXPECT_EQ(clip_grad_norm({{"x", infinite}}, 1), HUGE_VAL);
  EXPECT_TRUE(std::isnan(infinite.grad().item_at({0})));
  EXPECT_EQ(infinite.grad().item_at({1}), 0);
  const Tensor nan = gradient(std::nan(""));
  EXPECT_TRUE(std::isnan(clip_grad_norm({{"x", nan}}, 1)));
  EXPECT_TRUE(std::isnan(nan.grad().item_at({1})));
  const Tensor kept = gradient(kInf);
  fails("clip_grad_norm", {"norm", "inf"}, [&] {
    clip_grad_norm({{"x", kept}}, 1, {.error_if_nonfinite = true});
  });
  EXPECT_EQ(kept.grad().item_at({1}), 1);
}

// First scaled, and then clipped by the norm of the scaled gradients.
TEST(ClipGradNorm, ScalesSumsToMeans) {
  for (const double largest : {2.5, 1e9}) {
    const Parameters of = parameters();
    const double norm = naive_norm(of) / 8;
    const Array before = array(of[0].tensor.grad());
    EXPECT_NEAR(clip_grad_norm(of, largest, {.scale = 1.0 / 8}), norm, 1e-12 * norm);
    const double factor = std::min(1.0, largest / (norm + 1e-6)) / 8;
    const Array want = map(before, [&](double g) { return g * factor; });
    EXPECT_TRUE(near(of[0].tensor.grad(), want, 2e-7)) << largest;
  }
}

TEST(ClipGradNorm, Errors) {
  fails("clip_grad_norm", {"max_norm", "-1"}, [] { clip_grad_norm(parameters(), -1); });
  fails("clip_grad_norm", {"max_norm", "nan"}, [] { clip_grad_norm(parameters(), std::nan("")); });
}

}  // namespace
}  // namespace tessera::test
