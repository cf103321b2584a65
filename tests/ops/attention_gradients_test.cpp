// The gradients of the attention op: compared with differences, for every layout, mask and
// broadcast bias, also for weights that are used in the loss. The kernel has its own tests.

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/support/attention_run.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionGradientsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionGradientsTest, each_isa(), isa_name);

/// q, k and v of five queries and seven keys; two sequences and two heads, if `rank` has these
/// axes.
Tensors inputs(index_t rank = 4) {
  const auto shape = [&](index_t tokens, index_t width) {
    Shape all = {2, 2, tokens, width};
    Shape last;
    for (index_t i = 4 - rank; i < 4; ++i) last.push_back(all[i]);
    return last;
  };
  return {values(shape(5, 3), 1), values(shape(7, 3), 2), values(shape(7, 4), 3)};
}

Function attend(const AttentionMask& mask) {
  return [mask](const Tensors& x) { return attention(x[0], x[1], x[2], mask).output; };
}

/// Each kind of mask, and all of them.
std::vector<AttentionMask> masks() {
  Tensor keep = random_tensor({2, 1, 5, 7}, kBool, 4);
  keep.select(2, 1).fill(0);  // query 1 sees no key
  Tensor bias = random_tensor({2, 5, 7}, kFloat64, 5);
  bias.select(2, 3).fill(-std::numeric_limits<double>::infinity());
  const AttentionMask some = length_mask({6, 0}) & keep_mask(keep);
  return {{},
          causal_mask(),
          window_mask(2),
          window_mask(1) & causal_mask(),
          length_mask({3, 7}),
          keep_mask(keep),
          additive_mask(bias),
          causal_mask() & some & additive_mask(bias)};
}

TEST_P(AttentionGradientsTest, AgreeWithDifferences) {
  for (const AttentionMask& mask : masks()) EXPECT_TRUE(gradcheck(attend(mask), inputs()));
  for (index_t rank : {2, 3}) {
    EXPECT_TRUE(gradcheck(attend(causal_mask()), inputs(rank))) << "rank " << rank;
  }
  const Function scaled = [](const Tensors& x) {
    return attention(x[0], x[1], x[2], {}, {.scale = 0.3}).output;
  };
  EXPECT_TRUE(gradcheck(scaled, inputs()));
}

TEST_P(AttentionGradientsTest, OfABiasAgreeWithDifferences) {
  const Function f = [](const Tensors& x) {
    return attention(x[0], x[1], x[2], causal_mask() & additive_mask(x[3])).output;
  };
  for (const Shape& shape : {Shape{2, 2, 5, 7}, Shape{5, 7}, Shape{2, 1, 7}, Shape{2, 1, 5, 7},
                             Shape{7}, Shape{2, 5, 1}, Shape{}}) {
    Tensors x = inputs();
    x.push_back(values(shape, 6));
    EXPECT_TRUE(gradcheck(f, x)) << shape;
  }
}

TEST_P(AttentionGradientsTest, OfABiasOfAnotherTypeHaveThatType) {
  const Tensor q = random_tensor({2, 5, 4}, kFloat32, 1).set_requires_grad();
  const Tensor bias = random_tensor({5, 5}, kFloat64, 2).set_requires_grad();
  Tape tape;
  tape.backward(sum(square(attention(q, q, q, additive_mask(bias)).output)));
  EXPECT_EQ(q.grad().dtype(), kFloat32);
  EXPECT_EQ(bias.grad().dtype(), kFloat64);
}

TEST_P(AttentionGradientsTest, OfWeightsAgreeWithDifferences) {
  for (const AttentionMask& mask : masks()) {
    const Function weights = [&](const Tensors& x) {
      return attention(x[0], x[1], x[2], mask, {.need_weights = AttentionRequest{}}).weights;
    };
    // They do not depend on v, so v has no gradient.
    const Function of_both = [&](const Tensors& x) {
      const AttentionResult all =
          attention(x[0], x[1], x[2], mask, {.need_weights = AttentionRequest{}});
      return matmul(all.weights, x[2]) + square(all.output);
    };
    const Tensor v = inputs()[2];
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& x) {
          return weights({x[0], x[1], v});
        },
        {inputs()[0], inputs()[1]}));
    EXPECT_TRUE(gradcheck(of_both, inputs()));
  }
}

// A key that some queries see and others do not, with NaN elements.
TEST_P(AttentionGradientsTest, OfWeightsShowNothingFromBehindAMask) {
  const auto gradient_beside = [](double last_key) {
    const Tensor q = values({1, 1, 4, 3}, 1).set_requires_grad();
    const Tensor k = values({1, 1, 4, 3}, 2);
    k.select(2, 3).fill(last_key);
    Tape tape;
    const AttentionOptions options = {.need_weights = AttentionRequest{}};
    const Tensor weights = attention(q, k, k, causal_mask(), options).weights;
    tape.backward(sum(square(weights.slice(2, 0, 3))));
    return q.grad().slice(2, 0, 3);
  };
  const Tensor want = gradient_beside(1);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(same_bits(gradient_beside(bad), want)) << bad;
  }
}

TEST_P(AttentionGradientsTest, OfChosenWeightsAgreeWithDifferences) {
  for (const bool averaged : {false, true}) {
    const AttentionRequest request = {
        .heads = {{1, 0}}, .queries = {{4, 0, 4}}, .averaged = averaged};
    const Tensor v = inputs()[2];
    const Function f = [&](const Tensors& x) {
      return attention(x[0], x[1], v, causal_mask(), {.need_weights = request}).weights;
    };
    const Tensors x = {inputs()[0], inputs()[1]};
    EXPECT_TRUE(gradcheck(f, x));
    const Tensor without = f(x);
    for (Tensor leaf : x) leaf.set_requires_grad();
    const Tape tape;
    EXPECT_TRUE(same_bits(f(x), without));
  }
}

const AttentionSizes kLonger = {3, 2, 131, 140, 24, 17};
const MaskParts kSomeKeys = {.causal = true, .lengths = {140, 17, 0}};

TEST_P(AttentionGradientsTest, LeaveTheOutputAsItIs) {
  for (const MaskParts& mask : {MaskParts{}, kSomeKeys}) {
    AttentionInputs x(kLonger);
    const Tensor without = x.attend(mask).output;
    for (Tensor* leaf : {&x.q, &x.k, &x.v}) leaf->set_requires_grad();
    Tape tape;
    const Tensor with = x.attend(mask).output;
    EXPECT_EQ(tape.size(), 1);
    EXPECT_TRUE(same_bits(with, without));
  }
}

/// The gradients of q, k, v and a bias of +inf at (1, 4), through the output or the weights.
std::vector<Tensor> gradients_at_infinity(bool of_weights, index_t heads) {
  Tensor q = random_tensor({1, heads, 9, 5}, kFloat32, 1).set_requires_grad();
  Tensor k = random_tensor({1, heads, 9, 5}, kFloat32, 2).set_requires_grad();
  Tensor v = random_tensor({1, heads, 9, 5}, kFloat32, 3).set_requires_grad();
  Tensor bias = zeros({9, 9});
  bias.select(0, 1).select(0, 4).fill(std::numeric_limits<double>::infinity());
  bias.set_requires_grad();
  Tape tape;
  const AttentionResult y = attention(
      q, k, v, additive_mask(bias),
      of_weights ? AttentionOptions{.need_weights = AttentionRequest{}} : AttentionOptions{});
  const Tensor& used = of_weights ? y.weights : y.output;
  tape.backward(sum(used * random_tensor(used.shape(), kFloat32, 4)));
  return {q.grad(), k.grad(), v.grad(), bias.grad()};
}

TEST_P(AttentionGradientsTest, ABiasOfPlusInfinityHasNanGradients) {
  for (int threads : {1, 4}) {
    set_thread_count(threads);
    for (index_t heads : {1, 3}) {
      for (bool of_weights : {false, true}) {
        const std::vector<Tensor> got = gradients_at_infinity(of_weights, heads);
        EXPECT_TRUE(all(isnan(got[0].select(2, 1))).item<bool>()) << "dq";
        EXPECT_FALSE(any(isnan(got[0].select(2, 2))).item<bool>()) << "dq";
        EXPECT_TRUE(all(isnan(got[1].select(2, 4))).item<bool>()) << "dk";
        if (!of_weights) {
          EXPECT_TRUE(all(isnan(got[2].select(2, 4))).item<bool>()) << "dv";
        }
        EXPECT_TRUE(std::isnan(got[3].item_at({1, 4}))) << "d bias";
        EXPECT_FALSE(any(isnan(got[3].select(0, 2))).item<bool>()) << "d bias";
      }
    }
    set_thread_count(0);
  }
}

// If one tensor is q, k and v, its gradients are added up in the same order for each layout.
TEST_P(AttentionGradientsTest, OfATensorWithItselfDoNotDependOnItsLayout) {
  const Tensor x = random_tensor({2, 3, 9, 20}, kFloat32, 6);
  const Tensor seed = random_tensor({2, 3, 9, 20}, kFloat32, 7);
  const auto gradient = [&](Tensor variable) {
    variable.set_requires_grad();
    Tape tape;
    tape.backward(sum(attention(variable, variable, variable, causal_mask()).output * seed));
    return variable.grad();
  };
  const Tensor want = gradient(x.detach());
  for (const Layout& layout : layouts_of(x)) {
    EXPECT_TRUE(same_bits(gradient(layout.tensor), want)) << layout.name;
  }
}

}  // namespace
}  // namespace tessera::test
