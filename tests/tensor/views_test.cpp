// The views of tensor/tensor.h, one by one.

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/tensor.h"
#include "tests/support/python_slice.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;
using Index = std::vector<index_t>;

constexpr index_t kMost = std::numeric_limits<index_t>::max();
constexpr index_t kLeast = std::numeric_limits<index_t>::min();

std::vector<index_t> values_of(const Tensor& x) {
  return x.to_vector<index_t>();
}

TEST(TransposeTest, ExchangesTwoAxes) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.transpose(0, 2).shape(), Shape({4, 3, 2}));
  EXPECT_EQ(x.transpose(0, -1).item_at({3, 1, 0}), 7);
  EXPECT_EQ(x.t().shape(), Shape({2, 4, 3}));
  EXPECT_TRUE(x.t().storage() == x.storage());
  fails("transpose", {"axis must be in [", "got 3", "3 axes"}, [&] { x.transpose(0, 3); });
  fails("t", {"at least 2 axes", "(3,)"}, [] { arange(3).t(); });
}

TEST(PermuteTest, RefusesWhatIsNoPermutation) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.permute({2, 0, -2}).shape(), Shape({4, 2, 3}));
  EXPECT_EQ(x.permute({2, 0, 1}).item_at({3, 1, 2}), 23);
  fails("permute", {"(0, 1)", "(2, 3, 4)"}, [&] { x.permute({0, 1}); });
  fails("permute", {"twice", "(0, 1, -2)"}, [&] { x.permute({0, 1, -2}); });
  fails("permute", {"axis must be in [", "got 3"}, [&] { x.permute({0, 1, 3}); });
  EXPECT_EQ(tensor(1).permute({}).shape(), Shape{});
}

TEST(SliceTest, FollowsPython) {
  const Tensor x = arange(5);
  EXPECT_EQ(values_of(x.slice(0, {}, {}, 2)), Index({0, 2, 4}));
  EXPECT_EQ(values_of(x.slice(0, {}, {}, -1)), Index({4, 3, 2, 1, 0}));
  EXPECT_EQ(values_of(x.slice(0, -1, 0, -2)), Index({4, 2}));
  EXPECT_EQ(values_of(x.slice(0, 100)), Index({}));
  EXPECT_EQ(values_of(x.slice(0, kLeast, kMost)), Index({0, 1, 2, 3, 4}));
  EXPECT_EQ(values_of(x.slice(0, kMost, kLeast, kLeast)), Index({4}));
  EXPECT_EQ(values_of(x.slice(0, 1, {}, kMost)), Index({1}));
  EXPECT_EQ(arange(0).slice(0, {}, {}, -1).count(), 0);
  fails("slice", {"step", "0"}, [&] { x.slice(0, 0, 1, 0); });
  fails("slice", {"axis must be in [", "got 1"}, [&] { x.slice(1, 0); });
}

TEST(SliceTest, EveryBoundAndStep) {
  std::vector<std::optional<index_t>> bounds = {std::nullopt};
  for (index_t bound = -7; bound <= 7; ++bound) bounds.emplace_back(bound);
  for (index_t n = 0; n <= 5; ++n) {
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (const index_t step : {1, 2, 3, 7, -1, -2, -3, -7}) {
          ASSERT_EQ(values_of(arange(n).slice(0, start, stop, step)),
                    python_slice(n, start, stop, step))
              << n << "[" << start.value_or(99) << ":" << stop.value_or(99) << ":" << step << "]";
        }
      }
    }
  }
}

TEST(SelectTest, DropsTheAxis) {
  const Tensor x = arange(6).reshape({2, 3});
  EXPECT_EQ(values_of(x.select(0, -1)), Index({3, 4, 5}));
  EXPECT_EQ(values_of(x.select(1, 0)), Index({0, 3}));
  fails("select", {"axis 0", "(2, 3)", "got 2"}, [&] { x.select(0, 2); });
  fails("select", {"index must be in [-3, 3)", "got -4"}, [&] { x.select(1, -4); });
  fails("select", {"index must be", "got 0"}, [] { zeros({0}).select(0, 0); });
}

TEST(ExpandTest, StretchesSizesOfOne) {
  const Tensor x = arange(3).reshape({3, 1});
  const Tensor y = x.expand({2, -1, 2});
  EXPECT_EQ(y.shape(), Shape({2, 3, 2}));
  EXPECT_EQ(y.strides(), Strides({0, 1, 0}));
  EXPECT_EQ(values_of(y), Index({0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(x.expand({3, 0}).count(), 0);
  fails("expand", {"(3, 1)", "(4, 2)"}, [&] { x.expand({4, 2}); });
  fails("expand", {"(3, 1)", "(3,)"}, [&] { x.expand({3}); });
  fails("expand", "(-1, 3, 1)", [&] { x.expand({-1, 3, 1}); });
  fails("expand", "(3, -2)", [&] { x.expand({3, -2}); });
}

TEST(ExpandTest, CountsBeyond32BitsAndRefusesBeyond64) {
  const Tensor one = tensor({1});
  const index_t huge = (index_t{1} << 32) + 1;
  EXPECT_EQ(one.expand({huge}).count(), huge);
  EXPECT_EQ(one.expand({huge}).item_at({huge - 1}), 1);
  const index_t half = index_t{1} << 62;
  fails("expand", "elements must fit int64", [&] { one.expand({half, half}); });
}

TEST(SqueezeTest, RemovesOnlySizesOfOne) {
  const Tensor x = arange(6).reshape({1, 2, 1, 3});
  EXPECT_EQ(x.squeeze().shape(), Shape({2, 3}));
  EXPECT_EQ(x.squeeze(0).shape(), Shape({2, 1, 3}));
  EXPECT_EQ(x.squeeze(-2).shape(), Shape({1, 2, 3}));
  EXPECT_EQ(tensor({{1}}).squeeze().shape(), Shape{});
  fails("squeeze", {"axis 1", "size 1", "got 2"}, [&] { x.squeeze(1); });
  EXPECT_EQ(x.unsqueeze(0).shape(), Shape({1, 1, 2, 1, 3}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), Shape({1, 2, 1, 3, 1}));
  EXPECT_EQ(tensor(1).unsqueeze(0).shape(), Shape({1}));
  fails("unsqueeze", {"axis must be in [", "got 5"}, [&] { x.unsqueeze(5); });
  fails("shape", "at most 8", [] { zeros(Shape::filled(8, 1)).unsqueeze(0); });
}

TEST(ReshapeTest, IsAViewWhereTheStridesAllowIt) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  const auto is_view = [](const Tensor& from, const Shape& shape) {
    return from.reshape(shape).storage() == from.storage();
  };
  EXPECT_TRUE(is_view(x, {24}));
  EXPECT_TRUE(is_view(x, {4, 1, 6}));
  EXPECT_TRUE(is_view(x.slice(0, 1), {12}));
  EXPECT_TRUE(is_view(x.slice(2, 1), {6, 3}));   // the axes before the sliced one merge
  EXPECT_FALSE(is_view(x.slice(2, 1), {2, 9}));  // the sliced one does not
  EXPECT_TRUE(is_view(x.t(), {2, 2, 2, 3}));     // an axis can be split
  EXPECT_FALSE(is_view(x.t(), {2, 12}));
  EXPECT_TRUE(is_view(x.slice(0, {}, {}, -1), {2, 12}));
  EXPECT_TRUE(is_view(tensor({{1}, {2}}).expand({2, 6}), {2, 3, 2}));
  EXPECT_TRUE(is_view(tensor(1).expand({4, 6}), {24}));
}

TEST(ReshapeTest, InfersOneSize) {
  const Tensor x = arange(6);
  EXPECT_EQ(x.reshape({-1, 2}).shape(), Shape({3, 2}));
  EXPECT_EQ(x.reshape({-1}).shape(), Shape({6}));
  EXPECT_EQ(zeros({0, 3}).reshape({-1, 5}).shape(), Shape({0, 5}));
  EXPECT_EQ(zeros({0, 3}).reshape({7, 0, 2}).shape(), Shape({7, 0, 2}));
  EXPECT_EQ(tensor(1).reshape({1, 1}).shape(), Shape({1, 1}));
  EXPECT_EQ(tensor({1}).reshape({}).shape(), Shape{});
  fails("reshape", {"(6,)", "(4, -1)"}, [&] { x.reshape({4, -1}); });
  fails("reshape", {"(6,)", "(2, 2)", "6 elements", "got 4"}, [&] { x.reshape({2, 2}); });
  fails("reshape", {"at most one", "(-1, -1)"}, [&] { x.reshape({-1, -1}); });
  fails("reshape", "at least 0", [&] { x.reshape({-2, -3}); });
  fails("reshape", "(0, -1)", [] { zeros({0}).reshape({0, -1}); });
  const index_t half = index_t{1} << 62;
  fails("reshape", "elements must fit int64", [&] { x.reshape({half, half}); });
}

TEST(FlattenTest, MergesAndUnflattenSplits) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.flatten().shape(), Shape({24}));
  EXPECT_EQ(x.flatten(1).shape(), Shape({2, 12}));
  EXPECT_EQ(x.flatten(0, -2).shape(), Shape({6, 4}));
  EXPECT_EQ(x.flatten(1, 1).shape(), Shape({2, 3, 4}));
  EXPECT_EQ(tensor(1).flatten().shape(), Shape({1}));
  EXPECT_EQ(zeros({2, 0, 3}).flatten().shape(), Shape({0}));
  EXPECT_EQ(x.unflatten(-1, {2, -1}).shape(), Shape({2, 3, 2, 2}));
  EXPECT_EQ(values_of(x.flatten(0, 1).unflatten(0, {2, 3})), values_of(x));
  fails("flatten", {"first axis", "got 2 and 0"}, [&] { x.flatten(2, 0); });
  fails("unflatten", {"(3,)", "(2, 2)"}, [&] { x.unflatten(1, {2, 2}); });
}

TEST(ChunkTest, CutsAsPyTorch) {
  const auto sizes = [](const std::vector<Tensor>& pieces) {
    Index result;
    for (const Tensor& piece : pieces) result.push_back(piece.size(0));
    return result;
  };
  EXPECT_EQ(sizes(arange(10).chunk(3)), Index({4, 4, 2}));
  EXPECT_EQ(sizes(arange(6).chunk(4)), Index({2, 2, 2}));
  EXPECT_EQ(sizes(arange(2).chunk(5)), Index({1, 1}));
  EXPECT_EQ(sizes(arange(3).chunk(kMost)), Index({1, 1, 1}));
  EXPECT_EQ(sizes(arange(0).chunk(3)), Index({0}));
  EXPECT_EQ(values_of(arange(6).reshape({2, 3}).chunk(3, -1)[1]), Index({1, 4}));
  fails("chunk", {"at least 1", "got 0"}, [] { arange(3).chunk(0); });
}

TEST(UnbindTest, DropsTheAxis) {
  const Tensor x = arange(6).reshape({2, 3});
  const auto columns = x.unbind(-1);
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(values_of(columns[1]), Index({1, 4}));
  EXPECT_EQ(columns[1].shape(), Shape({2}));
  EXPECT_TRUE(columns[1].storage() == x.storage());
  EXPECT_EQ(values_of(x.unbind()[1]), Index({3, 4, 5}));
  EXPECT_EQ(arange(3).unbind()[2].shape(), Shape{});
  EXPECT_TRUE(arange(0).unbind().empty());
  fails("unbind", {"axis must be in [", "got 2"}, [&] { x.unbind(2); });
  fails("unbind", "undefined", [] { Tensor().unbind(); });
}

TEST(SplitTest, TakesEverySize) {
  const Tensor x = arange(12).reshape({2, 6});
  const auto pieces = x.split({1, 0, 5}, 1);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(values_of(pieces[0]), Index({0, 6}));
  EXPECT_EQ(pieces[1].shape(), Shape({2, 0}));
  EXPECT_EQ(values_of(pieces[2]), Index({1, 2, 3, 4, 5, 7, 8, 9, 10, 11}));
  EXPECT_TRUE(pieces[2].storage() == x.storage());
  fails("split", {"[1, 4]", "axis 1", "(2, 6)"}, [&] { x.split({1, 4}, 1); });
  fails("split", "[7, -1]", [&] { x.split({7, -1}, 1); });
  fails("split", "axis 1", [&] { x.split({kMost, kMost, 8}, 1); });
}

TEST(DiagonalTest, OffsetMovesIt) {
  const Tensor x = arange(12).reshape({3, 4});
  EXPECT_EQ(values_of(x.diagonal()), Index({0, 5, 10}));
  EXPECT_EQ(values_of(x.diagonal(1)), Index({1, 6, 11}));
  EXPECT_EQ(values_of(x.diagonal(3)), Index({3}));
  EXPECT_EQ(values_of(x.diagonal(-2)), Index({8}));
  EXPECT_EQ(values_of(x.diagonal(-1, 1, 0)), Index({1, 6, 11}));
  for (const index_t off : {index_t{4}, index_t{-3}, kMost, kLeast}) {
    EXPECT_EQ(x.diagonal(off).count(), 0) << off;
  }
  EXPECT_EQ(arange(24).reshape({2, 3, 4}).diagonal(0, 0, 2).shape(), Shape({3, 2}));
  fails("diagonal", {"must be different", "1 and -1"}, [&] { x.diagonal(0, 1, -1); });
}

TEST(ToeplitzTest, DiagonalsAreElements) {
  const Tensor x = arange(8).reshape({2, 4});
  EXPECT_EQ(values_of(x.toeplitz(3, 2)), Index({2, 3, 1, 2, 0, 1, 6, 7, 5, 6, 4, 5}));
  EXPECT_EQ(x.toeplitz(3, 2).shape(), Shape({2, 3, 2}));
  EXPECT_EQ(values_of(x.select(0, 1).toeplitz(1, 4)), Index({4, 5, 6, 7}));
  EXPECT_EQ(values_of(x.select(0, 1).toeplitz(4, 1)), Index({7, 6, 5, 4}));
  EXPECT_EQ(x.toeplitz(0, 5).shape(), Shape({2, 0, 5}));
  EXPECT_EQ(x.toeplitz(5, 0).shape(), Shape({2, 5, 0}));
  EXPECT_EQ(zeros({0}).toeplitz(0, 0).shape(), Shape({0, 0}));
  fails("toeplitz", {"(2, 4)", "3 rows", "3 columns"}, [&] { x.toeplitz(3, 3); });
  fails("toeplitz", "-1 rows", [&] { x.toeplitz(-1, 6); });
  fails("toeplitz", "rows", [&] { x.toeplitz(kMost, kMost); });
  fails("toeplitz", "()", [&] { zeros({}).toeplitz(1, 1); });
  fails("toeplitz", "0 rows", [&] { x.toeplitz(0, 0); });
}

TEST(ToeplitzTest, CannotBeWritten) {
  Tensor square = zeros({5}).toeplitz(3, 3);
  EXPECT_TRUE(square.is_broadcast());
  fails("fill", "broadcast", [&] { square.fill(1); });
  Tensor column = square.select(1, 0);
  EXPECT_FALSE(column.is_broadcast());
  column.fill(1);
  EXPECT_EQ(square.item_at({2, 2}), 1);
}

TEST(ViewsTest, OfEmptyTensorsStayInsideTheStorage) {
  const index_t huge = index_t{1} << 61;
  const Tensor x = zeros({huge, 2, 0}, kFloat64);
  EXPECT_EQ(x.select(0, huge - 1).untyped_data(), x.untyped_data());
  EXPECT_EQ(x.slice(0, huge - 1).untyped_data(), x.untyped_data());
  EXPECT_EQ(x.diagonal(0, 0, 1).untyped_data(), x.untyped_data());
}

}  // namespace
}  // namespace tessera
