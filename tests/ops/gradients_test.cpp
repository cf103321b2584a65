// The gradient of every op, compared with differences in every layout: see gradcheck.h. Elementwise
// ops are in arithmetic_gradients_test.cpp and unary_test.cpp.
#include <gtest/gtest.h>

#include "tessera/tensor/ops/ops.h"
#include "tests/support/gradcheck.h"

namespace tessera {
namespace {

using namespace test;

TEST(ViewGradients, EachView) {
  const Tensor x = values({2, 3, 4}, 1);
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.transpose(0, 2); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.permute({1, 2, 0}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.permute({-1, 0, 1}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.slice(1, 1, 3); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.slice(-1, {}, {}, -2); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.select(1, -1); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.select(2, 0); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.reshape({4, -1}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.transpose(0, 1).reshape({6, 4}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.flatten(1); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.unflatten(2, {2, 2}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.unsqueeze(1).expand({5, 2, 6, 3, 4}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.slice(0, 0, 1).squeeze(0); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.slice(1, 0, 1).squeeze(); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.diagonal(1, 1, 2); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.toeplitz(3, 2); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.toeplitz(1, 4); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.chunk(2, 2)[1] * t.chunk(2, 2)[0]; }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.split({1, 3}, 2)[1]; }, x));
}

TEST(ViewGradients, SlicesOfOneTensorGatherInOneGradient) {
  EXPECT_TRUE(check_one(
      [](const Tensor& t) {
        const Tensor q = t.slice(1, 0, 2);
        const Tensor k = t.slice(1, 2, 4);
        return matmul(q, k.t()) +
               t.slice(1, 1, 4).slice(0, 0, 1).select(1, 0) * t.select(0, 1).slice(0, 0, 3);
      },
      values({3, 4}, 2)));
}

TEST(CopyGradients, EachCopy) {
  const Tensor x = values({3, 4}, 3);
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.clone(); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.t().contiguous(); }, x));
  const Tensor narrow = tensor({1.5, -2.5}).set_requires_grad();
  Tape tape;
  tape.backward(sum(narrow.to(kFloat64) * tensor({2.0, 3.0}, kFloat64)));
  EXPECT_EQ(narrow.grad().to_vector<float>(), (std::vector<float>{2, 3}));
}

TEST(ReductionGradients, OverAnyAxes) {
  const Tensor x = values({2, 3, 4}, 10);
  for (const bool keepdim : {false, true}) {
    for (const Axes& axes : {Axes{}, Axes{0}, Axes{-1}, Axes{0, 2}}) {
      const auto over = [&](auto op) {
        return check_one([&](const Tensor& t) { return op(t, axes, keepdim); }, x);
      };
      EXPECT_TRUE(over(sum)) << axes;
      EXPECT_TRUE(over(mean)) << axes;
      EXPECT_TRUE(over(norm)) << axes;
      EXPECT_TRUE(check_one([&](const Tensor& t) { return var(t, axes, keepdim); }, x)) << axes;
      EXPECT_TRUE(check_one([&](const Tensor& t) { return logsumexp(t, axes, keepdim); }, x))
          << axes;
      // Broadcast inputs have ties, at which no difference exists.
      const auto distinct = [&](auto op) {
        return gradients_agree([&](const Tensors& in) { return op(in[0], axes, keepdim); },
                               {x.clone()}, [](Tensor t) { return t.transpose(0, 1); });
      };
      EXPECT_TRUE(distinct(static_cast<Tensor (*)(const Tensor&, const Axes&, bool)>(max))) << axes;
      EXPECT_TRUE(distinct(static_cast<Tensor (*)(const Tensor&, const Axes&, bool)>(min))) << axes;
    }
  }
  EXPECT_TRUE(check_one([](const Tensor& t) { return var(t, {1}, false, 0); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return cumsum(t, 1); }, x));
}

TEST(ReductionGradients, AStandardDeviation) {
  // For equal elements the derivative does not exist, so layouts that repeat elements are omitted.
  EXPECT_TRUE(gradients_agree([](const Tensors& in) { return std_dev(in[0], {0}); },
                              {values({5, 3}, 11)}, [](Tensor t) { return t; }));
}

TEST(ReductionGradients, EqualsShareAnExtreme) {
  const Tensor x = tensor({3.0, 1.0, 3.0}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(max(x) + 10 * min(x));
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0.5, 10, 0.5}));
}

TEST(ReductionGradients, TheNormOfZerosHasTheGradientZero) {
  const Tensor x = zeros({3}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(norm(x));
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST(ProductGradients, Matmul) {
  const auto f = [](const Tensors& in) { return matmul(in[0], in[1]); };
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 4}, {4, 5}},    {{2, 3, 4}, {2, 4, 5}},    {{2, 3, 4}, {4, 5}},
      {{3, 4}, {2, 4, 5}}, {{2, 1, 3, 4}, {3, 4, 2}}, {{4}, {4, 5}},
      {{3, 4}, {4}},       {{2, 3, 4}, {4}},          {{4}, {2, 4, 3}},
      {{4}, {4}}};
  for (const auto& [a, b] : shapes) {
    EXPECT_TRUE(gradcheck(f, {values(a, 12), values(b, 13)})) << a << " x " << b;
  }
}

TEST(ProductGradients, AMatrixSharedByABatchGathersInOneProduct) {
  const Tensor x = test::random_tensor({5, 7, 12}, kFloat32, 40);
  const auto gradient_beside = [](const Tensor& left) {
    const Tensor w = test::random_tensor({12, 9}, kFloat32, 41).set_requires_grad();
    Tape tape;
    tape.backward(sum(square(matmul(left, w))));
    return w.grad();
  };
  const Tensor want = gradient_beside(x.reshape({35, 12}));
  EXPECT_TRUE(test::same_bits(gradient_beside(x), want)) << "beside a constant";
  EXPECT_TRUE(test::same_bits(gradient_beside(x.clone().set_requires_grad()), want));
}

TEST(ProductGradients, LinearWithEveryEpilogue) {
  using enum Activation;
  for (const Activation activation : {kNone, kRelu, kGelu, kGeluTanh, kSilu}) {
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 4}, Shape{4}}) {
      Shape out = shape;
      out.back() = 5;
      const Tensor x = values(shape, 14);
      const Tensor w = values({5, 4}, 15);
      const Tensor b = values({5}, 16);
      EXPECT_TRUE(gradcheck(
          [&](const Tensors& in) { return linear(in[0], in[1], in[2], activation, in[3]); },
          {x, w, b, values(out, 17)}));
      EXPECT_TRUE(gradcheck([&](const Tensors& in) { return linear(in[0], in[1], {}, activation); },
                            {x, w}));
    }
  }
}

TEST(ProductGradients, EinsumAndSimilarity) {
  const auto spec = [](const char* text) {
    return [text](const Tensors& in) { return einsum(text, in); };
  };
  EXPECT_TRUE(
      gradcheck(spec("bhqd,bhkd->bhqk"), {values({2, 2, 3, 2}, 18), values({2, 2, 4, 2}, 19)}));
  EXPECT_TRUE(gradcheck(spec("...i,oi->...o"), {values({2, 3, 4}, 18), values({5, 4}, 19)}));
  EXPECT_TRUE(gradcheck(spec("ij,ij->i"), {values({3, 4}, 18), values({3, 4}, 19)}));
  EXPECT_TRUE(gradcheck(spec("ii->i"), {values({3, 3}, 18)}));
  EXPECT_TRUE(gradcheck(spec("ij->j"), {values({3, 4}, 18)}));
  EXPECT_TRUE(gradcheck([](const Tensors& in) { return cosine_similarity(in[0], in[1]); },
                        {values({3, 4}, 20), values({1, 4}, 21)}));
}

TEST(NormalisationGradients, Softmaxes) {
  const Tensor x = values({2, 3, 4}, 22);
  for (const Axes& axes : {Axes{-1}, Axes{0}, Axes{0, 2}, Axes{}}) {
    EXPECT_TRUE(check_one([&](const Tensor& t) { return softmax(t, axes); }, x)) << axes;
    EXPECT_TRUE(check_one([&](const Tensor& t) { return log_softmax(t, axes); }, x)) << axes;
  }
}

TEST(NormalisationGradients, LayerNorm) {
  const auto f = [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); };
  EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 23), values({4}, 24), values({4}, 25)}));
  EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 23), values({3, 4}, 24), values({3, 4}, 25)}));
  EXPECT_TRUE(check_one([](const Tensor& t) { return layer_norm(t); }, values({3, 5}, 26)));
  EXPECT_TRUE(gradcheck([](const Tensors& in) { return layer_norm(in[0], {}, in[1]); },
                        {values({3, 4}, 23), values({4}, 24)}));
  EXPECT_TRUE(gradcheck([](const Tensors& in) { return layer_norm(in[0], in[1]); },
                        {values({3, 4}, 23), values({4}, 24)}));
}

TEST(NormalisationGradients, RMSNorm) {
  const auto f = [](const Tensors& in) { return rms_norm(in[0], in[1]); };
  EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 23), values({4}, 24)}));
  EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 23), values({3, 4}, 24)}));
  EXPECT_TRUE(check_one([](const Tensor& t) { return rms_norm(t); }, values({3, 5}, 26)));
  EXPECT_TRUE(check_one([](const Tensor& t) { return rms_norm(t, {}, 0.5); }, values({3, 5}, 26)));
  // With another path, whose gradient is added in the same pass.
  EXPECT_TRUE(check_one([](const Tensor& t) { return t * 2 + rms_norm(t); }, values({3, 4}, 23)));
}

TEST(NormalisationGradients, LayerNormBesideAnotherPath) {
  const Tensor x = values({3, 4}, 23);
  const Tensor w = values({4}, 24);
  EXPECT_TRUE(check_one([&](const Tensor& t) { return layer_norm(t, w, w) + t; }, x));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return t + layer_norm(t, w, w); }, x));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return layer_norm(t, w, w) + t * 3; }, x));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return exp(t) + layer_norm(t.t()).t(); }, x));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return layer_norm(layer_norm(t) + t) + t; }, x));
}

TEST(TriangleGradients, KeepTheirSides) {
  EXPECT_TRUE(
      check_one([](const Tensor& t) { return tril(t) + triu(t, 1) * 2; }, values({2, 3, 3}, 30)));
}

TEST(JoinGradients, PartsThatRepeat) {
  EXPECT_TRUE(gradcheck(
      [](const Tensors& in) {
        return concat({in[0], in[1], in[0]}, 1);
      },
      {values({2, 3}, 31), values({2, 2}, 32)}));
  EXPECT_TRUE(gradcheck(
      [](const Tensors& in) {
        return stack({in[0], in[1]}, -1);
      },
      {values({2, 3}, 31), values({2, 3}, 32)}));
}

TEST(SelectionGradients, WhereAndMaskedFill) {
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  EXPECT_TRUE(gradcheck([&](const Tensors& in) { return where(mask, in[0], in[1]); },
                        {values({2, 3}, 33), values({3}, 34)}));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return where(mask, t, 0) + where(mask, 1, t * t); },
                        values({2, 3}, 35)));
  EXPECT_TRUE(
      check_one([&](const Tensor& t) { return masked_fill(t, mask, -3); }, values({4, 2, 3}, 36)));
}

TEST(SelectionGradients, WhatIsNotChosenMayBeNan) {
  const Tensor x = tensor({0.0, 4.0}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(sum(where(gt(x, 0), sqrt(x), 0)));
  EXPECT_TRUE(std::isnan(x.grad().item_at({0})));  // 0 times infinity, as in PyTorch
  EXPECT_EQ(x.grad().item_at({1}), 0.25);
}

TEST(TruthValues, HaveNoGradientAndRecordNothing) {
  const Tensor x = values({2, 3}, 37).set_requires_grad();
  Tape tape;
  for (const Tensor& y : {eq(x, x), x < 0, logical_not(x), logical_and(x, x), any(x), all(x),
                          isnan(x), isinf(x), isfinite(x), isclose(x, x), argmax(x), x.to(kBool)}) {
    EXPECT_FALSE(y.requires_grad());
  }
  EXPECT_TRUE(allclose(x, x));
  EXPECT_TRUE(array_equal(x, x));
  EXPECT_EQ(tape.size(), 0);
}

/// A forward pass has the same bits whether it is recorded or not.
TEST(Recording, ChangesNoBit) {
  const Tensor x = test::random_tensor({3, 7, 12}, kFloat32, 40);
  const Tensor w = test::random_tensor({9, 12}, kFloat32, 41).set_requires_grad();
  const Tensor b = test::random_tensor({9}, kFloat32, 42);
  const Tensor r = test::random_tensor({3, 7, 9}, kFloat32, 43);
  const Tensor scale = test::random_tensor({9}, kFloat32, 44).set_requires_grad();
  using enum Activation;
  for (const Activation activation : {kNone, kRelu, kGelu, kGeluTanh, kSilu}) {
    const auto forward = [&] {
      const Tensor y = linear(x, w, b, activation, r);
      return softmax(layer_norm(y, scale, b));
    };
    const Tensor plain = forward();
    Tape tape;
    const Tensor recorded = forward();
    EXPECT_TRUE(recorded.requires_grad());
    EXPECT_TRUE(test::same_bits(recorded.to_vector<float>(), plain.to_vector<float>()));
  }
}

}  // namespace
}  // namespace tessera
