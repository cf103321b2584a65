// The gradients of the ops that select, order and move elements, in every layout: see gradcheck.h.
#include <gtest/gtest.h>

#include "tessera/tensor/ops/ops.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {
namespace {

TEST(OrderGradients, SortAndTopk) {
  // A broadcast axis has equal elements, whose order a difference would change: test the other
  // axes.
  const Tensor x = values({3, 4, 5}, 1);
  for (const bool first : {false, true}) {
    for (const index_t axis : {1, 2}) {
      EXPECT_TRUE(check_one([&](const Tensor& t) { return sort(t, axis, first).values; }, x));
      EXPECT_TRUE(check_one([&](const Tensor& t) { return topk(t, 2, axis, first).values; }, x));
    }
  }
}

TEST(ScatterGradients, OfBothOperands) {
  const Tensor index = tensor({{2, 0, 2}, {1, 2, 2}});
  for (const index_t axis : {0, 1}) {
    EXPECT_TRUE(
        gradcheck([&](const Tensors& in) { return scatter_add(in[0], axis, index, in[1]) * in[2]; },
                  {values({3, 3}, 2), values({2, 3}, 3), values({3, 3}, 4)}));
    EXPECT_TRUE(
        gradcheck([&](const Tensors& in) { return scatter_add(in[0], axis, index.t(), in[1]); },
                  {values({3, 3}, 2), values({4, 3}, 3)}));
  }
  const Tensor ids = tensor({1, 1, 0, 1});
  for (const double alpha : {1.0, -0.5}) {
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& in) { return index_add(in[0], -1, ids, in[1], alpha) * in[0]; },
        {values({3, 2}, 5), values({3, 4}, 6)}));
  }
}

TEST(ScatterGradients, OfAConstantAndAVariable) {
  const Tensor ids = tensor({1, 1, 0, 1});
  EXPECT_TRUE(check_one([&](const Tensor& t) { return index_add(zeros({2}, kFloat64), 0, ids, t); },
                        values({4}, 7)));
  EXPECT_TRUE(
      check_one([&](const Tensor& t) { return scatter_add(t, 0, ids, ones({4}, kFloat64)); },
                values({2}, 8)));
}

TEST(ChoiceGradients, MaskedSelect) {
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  EXPECT_TRUE(
      check_one([&](const Tensor& t) { return masked_select(t, mask); }, values({2, 3}, 9)));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return masked_select(t, mask); }, values({3}, 10)));
  EXPECT_TRUE(check_one([&](const Tensor& t) { return masked_select(t, mask.select(0, 1)); },
                        values({4, 3}, 11)));
}

TEST(MoveGradients, EachOp) {
  const Tensor x = values({2, 3, 4}, 12);
  EXPECT_TRUE(check_one([](const Tensor& t) { return flip(t); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return flip(t, {0, 2}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return roll(t, 5); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return roll(t, {1, -3}, {0, 2}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return pad(t, {1, 2, 0, 3}, 7); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return pad(t, {-1, 2, 1, -2, -1, 0}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return tile(t, {2, 1, 3, 2}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return tile(t, {1, 1, 1}); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return tile(t, 2); }, values({4}, 13)));
  EXPECT_TRUE(check_one([](const Tensor& t) { return repeat_interleave(t, 3, 1); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return t.unbind(1)[2] * t.unbind(1)[0]; }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return tril(t, -1) + triu(t, 2) * 2; },
                        values({2, 2, 3, 4}, 14)));
}

TEST(ProductGradients, ProdOverAnyAxes) {
  Tensor x = values({2, 3, 4}, 15);
  for (const bool with_zeros : {false, true}) {
    if (with_zeros) {
      x.select(0, 1).select(0, 2).fill(0);                     // a whole row
      x.slice(0, 0, 1).slice(1, 1, 2).slice(2, 2, 3).fill(0);  // one element
    }
    for (const bool keepdim : {false, true}) {
      for (const Axes& axes : {Axes{}, Axes{0}, Axes{-1}, Axes{0, 2}}) {
        EXPECT_TRUE(check_one([&](const Tensor& t) { return prod(t, axes, keepdim); }, x)) << axes;
      }
    }
  }
  EXPECT_TRUE(check_one([](const Tensor& t) { return prod(t); }, values({}, 16)));
  EXPECT_TRUE(gradcheck([](const Tensors& in) { return outer(in[0], in[1]); },
                        {values({3}, 17), values({4}, 18)}));
}

TEST(ProductGradients, ProdBesideZeros) {
  const auto gradient = [](const Tensor& values_of) {
    const Tensor x = values_of.clone().set_requires_grad();
    Tape tape;
    tape.backward(prod(x) * 2);
    return x.grad();
  };
  EXPECT_TRUE(same_bits(gradient(tensor({3.0, 0.0, 5.0})), tensor({0.0, 30.0, 0.0})));
  EXPECT_TRUE(same_bits(gradient(tensor({0.0, 7.0, 0.0})), tensor({0.0, 0.0, 0.0})));
  EXPECT_TRUE(same_bits(gradient(tensor({4.0})), tensor({2.0})));
  EXPECT_EQ(gradient(zeros({0})).shape(), (Shape{0}));
}

TEST(Places, HaveNoGradientAndRecordNothing) {
  const Tensor x = values({2, 3}, 19).set_requires_grad();
  Tape tape;
  for (const Tensor& y : {argmin(x), argsort(x), nonzero(x), zeros_like(x), ones_like(x)}) {
    EXPECT_FALSE(y.requires_grad());
  }
  EXPECT_EQ(tape.size(), 0);
}

}  // namespace
}  // namespace tessera::test
