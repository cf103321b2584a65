#include "tensor/ops/rearrange.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/oracle.h"

namespace tessera::test {
namespace {

TEST(Concat, LaysPartsBehindEachOther) {
  const Tensor a = tensor({{1, 2}, {3, 4}});
  const Tensor b = tensor({{5, 6}});
  EXPECT_TRUE(same_bits(concat({a, b}), tensor({{1, 2}, {3, 4}, {5, 6}})));
  EXPECT_TRUE(same_bits(concat({a, b.t()}, -1), tensor({{1, 2, 5}, {3, 4, 6}})));
  EXPECT_TRUE(same_bits(concat({a}), a));
}

TEST(Concat, TakesEveryLayoutAndDtype) {
  for (DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    const Tensor first = random_tensor({3, 2, 5}, dtype, 1);
    for (const Layout& second : random_layouts({3, 4, 5}, dtype, 2)) {
      const Array a = array(first);
      const Array b = array(second.tensor);
      const Array want = build({3, 6, 5}, [&](const Dims& i) {
        return i[1] < 2 ? a.at(i) : b.at({i[0], i[1] - 2, i[2]});
      });
      const Tensor got = concat({first, second.tensor}, 1);
      EXPECT_TRUE(exactly(got, want)) << second.name;
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_TRUE(got.is_contiguous());
    }
  }
}

TEST(Concat, PromotesAndTakesEmptyParts) {
  EXPECT_TRUE(
      same_bits(concat({tensor({true}), tensor({2}), tensor({0.5})}), tensor({1.0, 2.0, 0.5})));
  const Tensor none = zeros({2, 0}, kFloat64);
  EXPECT_TRUE(same_bits(concat({none, tensor({{1}, {2}})}, 1), tensor({{1}, {2}}, kFloat64)));
  EXPECT_TRUE(same_bits(concat({none, none}, 1), none));
  EXPECT_TRUE(same_bits(concat({none, none}, 0), zeros({4, 0}, kFloat64)));
}

TEST(Concat, RefusesPartsThatDoNotFit) {
  EXPECT_TRUE(throws("concat", {"at least 1"}, [] { concat({}); }));
  EXPECT_TRUE(throws("concat", {"(2, 3)", "(2, 4)", "axis 0"}, [] {
    concat({zeros({2, 3}), zeros({2, 4})});
  }));
  EXPECT_TRUE(throws("concat", {"(2, 3)", "(3,)"}, [] { concat({zeros({2, 3}), zeros({3})}); }));
  EXPECT_TRUE(throws("concat", {"axis must be in [", "got 2"}, [] { concat({zeros({2, 3})}, 2); }));
  EXPECT_TRUE(throws("concat", {"axis must be in [", "got 0"}, [] { concat({tensor(1.0)}); }));
  EXPECT_TRUE(throws("concat", {"undefined"}, [] { concat({zeros({2}), Tensor()}); }));
}

TEST(Stack, MakesANewAxis) {
  const Tensor a = tensor({1, 2, 3});
  const Tensor b = tensor({4, 5, 6});
  EXPECT_TRUE(same_bits(stack({a, b}), tensor({{1, 2, 3}, {4, 5, 6}})));
  EXPECT_TRUE(same_bits(stack({a, b}, 1), tensor({{1, 4}, {2, 5}, {3, 6}})));
  EXPECT_TRUE(same_bits(stack({a, b}, -1), stack({a, b}, 1)));
  EXPECT_TRUE(same_bits(stack({tensor(1.0), tensor(2)}), tensor({1.0, 2.0})));
  EXPECT_TRUE(same_bits(stack({zeros({0}), zeros({0})}), zeros({2, 0})));
}

TEST(Stack, TakesEveryLayout) {
  const Tensor first = random_tensor({3, 4}, kFloat32, 3);
  for (const Layout& second : random_layouts({3, 4}, kFloat32, 4)) {
    const Array a = array(first);
    const Array b = array(second.tensor);
    const Array want = build({3, 2, 4}, [&](const Dims& i) {
      return (i[1] == 0 ? a : b).at({i[0], i[2]});
    });
    EXPECT_TRUE(exactly(stack({first, second.tensor}, 1), want)) << second.name;
  }
}

TEST(Stack, RefusesPartsThatDiffer) {
  EXPECT_TRUE(throws("stack", {"at least 1"}, [] { stack({}); }));
  EXPECT_TRUE(throws("stack", {"(2,)", "(1,)"}, [] { stack({zeros({2}), zeros({1})}); }));
  EXPECT_TRUE(throws("stack", {"axis must be in [", "got 2"}, [] { stack({zeros({2})}, 2); }));
  EXPECT_TRUE(throws("stack", {"undefined"}, [] { stack({Tensor()}); }));
}

}  // namespace
}  // namespace tessera::test
