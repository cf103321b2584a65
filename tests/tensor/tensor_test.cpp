#include "tessera/tensor/tensor.h"

#include <new>

#include "tessera/tensor/create.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

TEST(TensorTest, IsAHandle) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_TRUE(x.defined());
  const Tensor same = x;
  x.fill(7);
  EXPECT_EQ(same.item_at({1, 1}), 7);
  EXPECT_TRUE(same.storage() == x.storage());
  const Tensor copy = x.clone();
  x.fill(8);
  EXPECT_EQ(copy.item_at({1, 1}), 7);
  EXPECT_FALSE(copy.storage() == x.storage());
}

TEST(TensorTest, EmptyDescribesItself) {
  const Tensor x = Tensor::empty({2, 3, 4}, kFloat64);
  EXPECT_EQ(x.shape(), Shape({2, 3, 4}));
  EXPECT_EQ(x.strides(), Strides({12, 4, 1}));
  EXPECT_EQ(x.offset(), 0);
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.count(), 24);
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_FALSE(x.is_broadcast());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data<double>()) % 64, 0U);
  fails("size", {"axis must be in [", "got 3", "3 axes"}, [&] { x.size(3); });
}

TEST(TensorTest, ReadsElements) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.item_at<index_t>({1, 2}), 6);
  EXPECT_EQ(x.item_at({-1, -3}), 4.0);
  EXPECT_EQ(x.slice(1, 2).slice(0, 1).item<float>(), 6.0F);
  EXPECT_EQ(tensor(2.5).item<index_t>(), 2);
  EXPECT_TRUE(tensor(0.5).item<bool>());
  EXPECT_EQ(x.t().to_vector<index_t>(), (std::vector<index_t>{1, 4, 2, 5, 3, 6}));
  fails("item", {"(2, 3)", "1 element", "got 6"}, [&] { x.item(); });
  fails("item_at", {"(1,)", "(2, 3)"}, [&] { x.item_at({1}); });
  fails("item_at", {"(0, 3)", "(2, 3)"}, [&] { x.item_at({0, 3}); });
  fails("to_vector", {"float32", "int64"}, [&] { x.to_vector<float>(); });
}

TEST(TensorTest, ReadsNumbersOfEveryType) {
  const Tensor x = tensor({-1.75, 200.0});
  EXPECT_EQ(x.item_at<int>({0}), -1);
  EXPECT_EQ(x.item_at<long long>({0}), -1);
  EXPECT_EQ(x.item_at<unsigned char>({1}), 200);
  EXPECT_EQ(x.item_at<std::size_t>({1}), 200U);
  EXPECT_EQ(x.item_at<long double>({0}), -1.75L);
  EXPECT_EQ(tensor(true).item<int>(), 1);
  EXPECT_EQ(tensor(-0.5).item<unsigned>(), 0U);
  const index_t least = std::numeric_limits<index_t>::min();
  EXPECT_EQ(full({}, -0x1p63, kFloat64).item<index_t>(), least);
  EXPECT_EQ(from_vector(std::vector<index_t>{least}).item<long long>(), least);
  EXPECT_EQ(full({}, 0x1p63, kFloat64).item<std::uint64_t>(), std::uint64_t{1} << 63);
}

TEST(TensorTest, ReadsNoNumberThatTheTypeCannotHold) {
  const Tensor x = tensor({300.0, -1.0});
  fails("item", {"value must be from -128 to 127, got 300"}, [&] { x.item_at<signed char>({0}); });
  fails("item", {"value must be from 0 to 4294967295, got -1"}, [&] { x.item_at<unsigned>({1}); });
  fails("item", {"value must be from 0 to 18446744073709551615, got -1"},
        [] { tensor(-1).item<std::uint64_t>(); });
  fails("item", {"value must be from -2147483648 to 2147483647, got 2147483648"},
        [] { tensor(index_t{1} << 31).item<int>(); });
  fails("item", "got nan", [] { tensor(std::nan("")).item<int>(); });
  fails("item", "got inf", [] { tensor(HUGE_VAL).item<index_t>(); });
  fails("item", "got 9.22337e+18", [] { full({}, 0x1p63, kFloat64).item<index_t>(); });
  fails("item", "got 1.84467e+19", [] { full({}, 0x1p64, kFloat64).item<std::uint64_t>(); });
}

TEST(TensorTest, DataChecksTheDType) {
  Tensor x = zeros({2, 3});
  fails("data", {"float64", "float32", "(2, 3)"}, [&] { x.data<double>(); });
  fails("mutable_data", {"int64", "float32"}, [&] { x.mutable_data<index_t>(); });
  const Tensor part = x.slice(1, 1);
  EXPECT_EQ(part.data<float>(), x.data<float>() + 1);
}

TEST(TensorTest, WhatNeedsATensorSaysThatThereIsNone) {
  Tensor none;
  const std::string undefined = "tensor must be defined";
  fails("size", undefined, [&] { none.size(0); });
  fails("data", undefined, [&] { none.data<float>(); });
  fails("data", undefined, [&] { none.untyped_data(); });
  fails("mutable_data", undefined, [&] { none.mutable_data<float>(); });
  fails("item", undefined, [&] { none.item(); });
  fails("item_at", undefined, [&] { none.item_at({}); });
  fails("item_at", undefined, [&] { none.item_at({0}); });
  fails("to_vector", undefined, [&] { none.to_vector<float>(); });
  fails("transpose", undefined, [&] { none.transpose(0, 1); });
  fails("t", undefined, [&] { none.t(); });
  fails("permute", undefined, [&] { none.permute({}); });
  fails("slice", undefined, [&] { none.slice(0, 1); });
  fails("select", undefined, [&] { none.select(0, 0); });
  fails("expand", undefined, [&] { none.expand({2}); });
  fails("expand", undefined, [&] { none.expand({}); });
  fails("squeeze", undefined, [&] { none.squeeze(0); });
  fails("squeeze", undefined, [&] { none.squeeze(); });
  fails("unsqueeze", undefined, [&] { none.unsqueeze(0); });
  fails("reshape", undefined, [&] { none.reshape({0}); });
  fails("flatten", undefined, [&] { none.flatten(); });
  fails("unflatten", undefined, [&] { none.unflatten(0, {1}); });
  fails("chunk", undefined, [&] { none.chunk(1); });
  fails("split", undefined, [&] { none.split({}); });
  fails("diagonal", undefined, [&] { none.diagonal(); });
  fails("toeplitz", undefined, [&] { none.toeplitz(1, 1); });
  fails("contiguous", undefined, [&] { none.contiguous(); });
  fails("clone", undefined, [&] { none.clone(); });
  fails("to", undefined, [&] { none.to(kInt64); });
  fails("set_requires_grad", undefined, [&] { none.set_requires_grad(); });
  fails("fill", undefined, [&] { none.fill(1); });
  fails("copy_from", undefined, [&] { none.copy_from(zeros({2})); });
  fails("copy_from", "undefined", [&] { zeros({2}).copy_from(none); });
}

TEST(TensorTest, WhatAsksForATensorDoesNotNeedOne) {
  Tensor none;
  EXPECT_EQ(none.shape(), Shape());
  EXPECT_EQ(none.rank(), 0);
  EXPECT_EQ(none.count(), 0);
  EXPECT_FALSE(none.requires_grad());
  EXPECT_FALSE(none.grad().defined());
  EXPECT_FALSE(none.detach().defined());
  EXPECT_FALSE(static_cast<bool>(none.storage()));
  EXPECT_FALSE(none.storage().is_unique());
  none.zero_grad();
}

TEST(TensorTest, MemoryThatIsNotThereIsNamed) {
  constexpr index_t kMany = index_t{1} << 24;
  try {
    Tensor::empty({kMany, 3072, kMany}, kFloat64);
    FAIL() << "nothing was thrown";
  } catch (const std::bad_alloc& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("out of memory: ")) << text;
    EXPECT_NE(text.find("float64"), std::string::npos) << text;
    EXPECT_NE(text.find("(16777216, 3072, 16777216)"), std::string::npos) << text;
    EXPECT_NE(text.find("6917529027641081856 bytes"), std::string::npos) << text;
  }
}

TEST(TensorTest, ContiguousCopiesOnlyWhereNeeded) {
  const Tensor x = arange(6).reshape({2, 3});
  EXPECT_TRUE(x.contiguous().storage() == x.storage());
  const Tensor y = x.t().contiguous();
  EXPECT_FALSE(y.storage() == x.storage());
  EXPECT_EQ(y.strides(), Strides({2, 1}));
  EXPECT_EQ(y.to_vector<index_t>(), (std::vector<index_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(x.slice(0, 1).is_contiguous());
  EXPECT_FALSE(x.slice(1, 1).is_contiguous());
  EXPECT_FALSE(x.slice(0, {}, {}, -1).is_contiguous());
  // Strides of axes of size 1, and of empty tensors, have no effect.
  EXPECT_TRUE(x.slice(1, 0, 1).slice(0, 0, 1).t().is_contiguous());
  EXPECT_TRUE(zeros({0, 3}).t().is_contiguous());
}

TEST(TensorTest, ConvertsBetweenDTypes) {
  const Tensor x = tensor({0.0, -0.75, 2.9, -2.9, 1e10});
  EXPECT_EQ(x.to(kInt64).to_vector<index_t>(), (std::vector<index_t>{0, 0, 2, -2, 10000000000}));
  EXPECT_EQ(x.to(kBool).to_vector<bool>(), (std::vector<bool>{false, true, true, true, true}));
  EXPECT_EQ(tensor({-1, 0, 3}).to(kBool).to(kFloat64).to_vector<double>(),
            (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(tensor(0.1, kFloat64).to(kFloat32).item<float>(), 0.1F);
  EXPECT_TRUE(x.to(kFloat32).storage() == x.storage());
  EXPECT_EQ(arange(6).reshape({2, 3}).t().to(kFloat32).to_vector<float>(),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(TensorTest, WhatNoIntegerHoldsBecomesTheSmallest) {
  const double infinity = std::numeric_limits<double>::infinity();
  const index_t smallest = std::numeric_limits<index_t>::min();
  const Tensor x =
      tensor({infinity, -infinity, std::nan(""), 1e30, -9223372036854775808.0}, kFloat64);
  EXPECT_EQ(x.to(kInt64).to_vector<index_t>(), std::vector<index_t>(5, smallest));
  EXPECT_EQ(x.to(kFloat32).to(kInt64).to_vector<index_t>(), std::vector<index_t>(5, smallest));
  EXPECT_TRUE(tensor(std::nan("")).to(kBool).item<bool>());
}

TEST(TensorTest, FillWritesOnlyTheView) {
  Tensor x = zeros({3, 4}, kInt64);
  x.slice(0, 1, 2).slice(1, {}, {}, -2).fill(5);
  EXPECT_EQ(x.to_vector<index_t>(), (std::vector<index_t>{0, 0, 0, 0, 0, 5, 0, 5, 0, 0, 0, 0}));
  zeros({0, 3}).fill(1);
}

TEST(TensorTest, CopyFromBroadcastsAndCasts) {
  Tensor x = zeros({2, 3}, kFloat64);
  x.copy_from(tensor({1, 2, 3}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 1, 2, 3}));
  x.t().copy_from(tensor({{1.0, 2.0}}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 1, 1, 2, 2, 2}));
  fails("copy_from", {"(2,)", "(2, 3)"}, [&] { x.copy_from(zeros({2})); });
  fails("copy_from", {"(1, 2, 3)", "(2, 3)"}, [&] { x.copy_from(zeros({1, 2, 3})); });
}

TEST(TensorTest, CopyFromMayOverlap) {
  Tensor x = arange(6);
  x.copy_from(x.slice(0, {}, {}, -1));
  EXPECT_EQ(x.to_vector<index_t>(), (std::vector<index_t>{5, 4, 3, 2, 1, 0}));
  x.slice(0, 1).copy_from(x.slice(0, 0, 5));
  EXPECT_EQ(x.to_vector<index_t>(), (std::vector<index_t>{5, 5, 4, 3, 2, 1}));
}

TEST(TensorTest, BroadcastViewsAreReadOnly) {
  Tensor x = zeros({3, 1}).expand({3, 4});
  EXPECT_TRUE(x.is_broadcast());
  fails("fill", {"broadcast", "(3, 4)", "(1, 0)"}, [&] { x.fill(1); });
  fails("copy_from", {"broadcast", "(3, 4)"}, [&] { x.copy_from(ones({3, 4})); });
  fails("mutable_data", "broadcast", [&] { x.mutable_data<float>(); });
  EXPECT_EQ(x.item_at({2, 3}), 0);
  Tensor copy = x.clone();
  copy.fill(1);
  EXPECT_EQ(copy.item_at({2, 3}), 1);
  EXPECT_FALSE(zeros({3, 1}).expand({3, 1}).is_broadcast());
}

TEST(TensorTest, EveryWriterBumpsTheVersion) {
  Tensor x = zeros({2, 2});
  auto version = x.storage().version();
  const auto bumped = [&] {
    const auto before = std::exchange(version, x.storage().version());
    return version > before;
  };
  x.fill(1);
  EXPECT_TRUE(bumped());
  x.t().copy_from(ones({2, 2}));
  EXPECT_TRUE(bumped());
  x.select(0, 1).mutable_data<float>();
  EXPECT_TRUE(bumped());
  x.clone();
  x.item_at({0, 0});
  x.data<float>();
  x.t().contiguous();
  EXPECT_FALSE(bumped());
}

TEST(TensorTest, LargeCopiesRunInParallel) {
  // Large enough for several threads: every element once, for any strides.
  const Tensor x = arange(300 * 1000).reshape({300, 1000});
  const Tensor y = x.t().clone();
  const auto* values = y.data<index_t>();
  for (index_t i = 0; i < 1000; ++i) {
    for (index_t j = 0; j < 300; ++j) ASSERT_EQ(values[i * 300 + j], j * 1000 + i);
  }
}

}  // namespace
}  // namespace tessera
