#include "tessera/tensor/ops/rearrange.h"

#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// Calls `check(x, its elements)` for tensors of three axes, every layout and dtype.
template <class Check>
void for_each_tensor(const Check& check) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Layout& x : random_layouts({3, 4, 5}, dtype, 1, -9, 9)) {
      SCOPED_TRACE(x.name);
      check(x.tensor, array(x.tensor));
    }
  }
}

/// A result: the elements wanted, x's dtype, and memory that is neither broadcast nor x's.
void expect_new(const Tensor& got, const Array& want, const Tensor& x) {
  EXPECT_TRUE(exactly(got, want));
  EXPECT_EQ(got.dtype(), x.dtype());
  EXPECT_TRUE(got.is_contiguous());
  EXPECT_FALSE(got.storage() == x.storage());
}

TEST(Flip, TurnsAxesRound) {
  EXPECT_TRUE(same_bits(flip(tensor({1, 2, 3})), tensor({3, 2, 1})));
  EXPECT_TRUE(same_bits(flip(tensor(1.5)), tensor(1.5)));
  EXPECT_TRUE(same_bits(flip(zeros({0, 2})), zeros({0, 2})));
  for_each_tensor([](const Tensor& x, const Array& from) {
    const Array want = build(from.shape, [&](const Dims& i) {
      return from.at({2 - i[0], i[1], 4 - i[2]});
    });
    EXPECT_TRUE(exactly(flip(x, {0, -1}), want));
    EXPECT_TRUE(flip(x, 1).storage() == x.storage()) << "a view";
    EXPECT_TRUE(same_bits(flip(flip(x)), x));
  });
  fails("flip", {"axis must be in [", "got 1"}, [] { flip(zeros({2}), 1); });
  fails("flip", "axes must be different", [] { flip(zeros({2}), {0, -1}); });
  fails("flip", "undefined", [] { flip(Tensor()); });
}

index_t wrapped(index_t i, index_t n) {
  return ((i % n) + n) % n;
}

TEST(Roll, BringsBackWhatLeaves) {
  EXPECT_TRUE(same_bits(roll(tensor({1, 2, 3, 4}), 1), tensor({4, 1, 2, 3})));
  EXPECT_TRUE(same_bits(roll(tensor({{1, 2}, {3, 4}}), 1), tensor({{4, 1}, {2, 3}})));
  EXPECT_TRUE(same_bits(roll(tensor(2.5), 3), tensor(2.5)));
  EXPECT_TRUE(same_bits(roll(zeros({0, 3}), 2, 0), zeros({0, 3})));
  for (const index_t shift :
       {index_t{0}, index_t{1}, index_t{-1}, index_t{-7}, index_t{12}, INT64_MAX, INT64_MIN}) {
    for_each_tensor([&](const Tensor& x, const Array& from) {
      const Array want = build(from.shape, [&](const Dims& i) {
        return from.at({i[0], wrapped(i[1] - shift % 4, 4), wrapped(i[2] + 2, 5)});
      });
      expect_new(roll(x, {shift, -2}, {1, -1}), want, x);
      const Array flat = build(from.shape, [&](const Dims& i) {
        const index_t place = wrapped(i[0] * 20 + i[1] * 5 + i[2] - shift % 60, 60);
        return from.values[static_cast<std::size_t>(place)];
      });
      expect_new(roll(x, shift), flat, x);
    });
  }
  EXPECT_TRUE(same_bits(roll(tensor({1, 2, 3, 4}), {1, 2}, {0, 0}), tensor({2, 3, 4, 1})));
}

TEST(Roll, Errors) {
  fails("roll", {"(1, 2)", "(0,)"}, [] { roll(zeros({2}), {1, 2}, 0); });
  fails("roll", {"1 number", "(1, 2)"}, [] { roll(zeros({2}), {1, 2}); });
  fails("roll", {"axis must be in [", "got 1"}, [] { roll(zeros({2}), 1, 1); });
  fails("roll", "undefined", [] { roll(Tensor(), 1); });
}

TEST(Pad, PutsAValueAround) {
  EXPECT_TRUE(same_bits(pad(tensor({1, 2}), {1, 2}), tensor({0, 1, 2, 0, 0})));
  EXPECT_TRUE(
      same_bits(pad(tensor({{1.5}}), {0, 1, 1, 0}, -2), tensor({{-2.0, -2.0}, {1.5, -2.0}})));
  EXPECT_TRUE(same_bits(pad(zeros({0}), {1, 1}, 3), tensor({3.0, 3.0})));
  EXPECT_TRUE(same_bits(pad(tensor({1, 2, 3}), {-1, -2}), zeros({0}, kInt64)));
  EXPECT_TRUE(same_bits(pad(tensor(2.5), {}), tensor(2.5)));
  for_each_tensor([](const Tensor& x, const Array& from) {
    for (const std::vector<index_t>& pads :
         {std::vector<index_t>{}, {1, 2}, {0, 0, 3, 1}, {-1, 2, 0, -2, 1, -3}, {-5, 9}}) {
      std::vector<index_t> all = pads;
      all.resize(6);
      const Shape shape = {3 + all[4] + all[5], 4 + all[2] + all[3], 5 + all[0] + all[1]};
      const bool value = true;
      const Array want = build(shape, [&](const Dims& i) {
        const Dims at = {i[0] - all[4], i[1] - all[2], i[2] - all[0]};
        for (index_t axis = 0; axis < 3; ++axis) {
          if (at[axis] < 0 || at[axis] >= from.shape[axis]) return 1.0;
        }
        return from.at(at);
      });
      expect_new(pad(x, pads, value), want, x);
    }
  });
}

TEST(Pad, KeepsEveryDigitOfAWholeNumber) {
  const index_t big = (index_t{1} << 60) + 1;
  EXPECT_EQ(pad(tensor({1}), {1, 0}, big).item_at<index_t>({0}), big);
}

TEST(Pad, Errors) {
  const Tensor x = zeros({2, 3});
  fails("pad", {"even", "3"}, [&] { pad(x, {1, 2, 3}); });
  fails("pad", {"at most 4", "(2, 3)", "got 6"}, [&] { pad(x, {1, 1, 1, 1, 1, 1}); });
  fails("pad", {"-2 and -2", "axis 1", "(2, 3)"}, [&] { pad(x, {-2, -2}); });
  fails("pad", {"-3 and 5", "axis 0"}, [&] { pad(x, {0, 0, -3, 5}); });
  fails("pad", "axis 1", [&] { pad(x, {INT64_MAX, 1}); });
  fails("pad", "axis 1", [&] { pad(x, {INT64_MIN, INT64_MAX}); });
  fails("pad", "axis 1", [&] { pad(x, {INT64_MAX, INT64_MAX}); });
  fails("pad", {"int64", "0.5"}, [] { pad(tensor({1}), {1, 1}, 0.5); });
  fails("pad", {"bool", "1"}, [] { pad(tensor({true}), {1, 1}, 1); });
  fails("pad", "undefined", [] { pad(Tensor(), {}); });
}

TEST(Tile, LaysCopiesSideBySide) {
  EXPECT_TRUE(same_bits(tile(tensor({1, 2}), 2), tensor({1, 2, 1, 2})));
  EXPECT_TRUE(same_bits(tile(tensor({1, 2}), {2, 1}), tensor({{1, 2}, {1, 2}})));
  EXPECT_TRUE(same_bits(tile(tensor({{1, 2}}), 2), tensor({{1, 2, 1, 2}})));
  EXPECT_TRUE(same_bits(tile(tensor(3), {2, 2}), tensor({{3, 3}, {3, 3}})));
  EXPECT_TRUE(same_bits(tile(zeros({0, 2}), {3, 2}), zeros({0, 4})));
  EXPECT_TRUE(same_bits(tile(zeros({2, 2}), {0, 2}), zeros({0, 4})));
  for_each_tensor([](const Tensor& x, const Array& from) {
    const Array want = build({2, 3, 12, 10}, [&](const Dims& i) {
      return from.at({i[1], i[2] % 4, i[3] % 5});
    });
    expect_new(tile(x, {2, 1, 3, 2}), want, x);
    expect_new(tile(x, {1, 1, 1}), from, x);
    expect_new(tile(x, 1), from, x);
    const Array rows = build({3, 8, 5}, [&](const Dims& i) {
      return from.at({i[0], i[1] % 4, i[2]});
    });
    expect_new(tile(x, {2, 1}), rows, x);
  });
  expect_new(tile(tensor({7}), 4), array(tensor({7, 7, 7, 7})), tensor({7}));
  const Tensor column = arange(3).reshape({3, 1});
  expect_new(tile(column, {1, 2}), array(tensor({{0, 0}, {1, 1}, {2, 2}})), column);
  const Tensor eight = zeros({1, 2, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(tile(eight, {3, 3, 1, 1, 1, 1, 1, 3}).shape(), (Shape{3, 6, 1, 1, 1, 1, 1, 3}));
}

TEST(RepeatInterleave, RepeatsElements) {
  EXPECT_TRUE(same_bits(repeat_interleave(tensor({1, 2}), 2, 0), tensor({1, 1, 2, 2})));
  EXPECT_TRUE(same_bits(repeat_interleave(tensor({1, 2}), 0, 0), zeros({0}, kInt64)));
  for_each_tensor([](const Tensor& x, const Array& from) {
    const Array want = build({3, 12, 5}, [&](const Dims& i) {
      return from.at({i[0], i[1] / 3, i[2]});
    });
    expect_new(repeat_interleave(x, 3, -2), want, x);
    expect_new(repeat_interleave(x, 1, 0), from, x);
  });
}

TEST(Tile, Errors) {
  fails("tile", {"at least 0", "(1, -1)"}, [] { tile(zeros({2, 2}), -1); });
  fails("tile", "9223372036854775807", [] { tile(zeros({2}), INT64_MAX); });
  fails("repeat_interleave", "-2", [] { repeat_interleave(zeros({2}), -2, 0); });
  fails("repeat_interleave", {"axis must be in [", "got 1"},
        [] { repeat_interleave(zeros({2}), 2, 1); });
  for (const Tensor& none : {Tensor()}) {
    fails("tile", "undefined", [&] { tile(none, 1); });
    fails("repeat_interleave", "undefined", [&] { repeat_interleave(none, 1, 0); });
  }
}

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
  fails("concat", "at least 1", [] { concat({}); });
  fails("concat", {"(2, 3)", "(2, 4)", "axis 0"}, [] { concat({zeros({2, 3}), zeros({2, 4})}); });
  fails("concat", {"(2, 3)", "(3,)"}, [] { concat({zeros({2, 3}), zeros({3})}); });
  fails("concat", {"axis must be in [", "got 2"}, [] { concat({zeros({2, 3})}, 2); });
  fails("concat", {"axis must be in [", "got 0"}, [] { concat({tensor(1.0)}); });
  fails("concat", "undefined", [] { concat({zeros({2}), Tensor()}); });
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
  fails("stack", "at least 1", [] { stack({}); });
  fails("stack", {"(2,)", "(1,)"}, [] { stack({zeros({2}), zeros({1})}); });
  fails("stack", {"axis must be in [", "got 2"}, [] { stack({zeros({2})}, 2); });
  fails("stack", "undefined", [] { stack({Tensor()}); });
}

}  // namespace
}  // namespace tessera::test
