// The views of tensor/tensor.h. The oracle walks indices: a view is a shape and, for each index
// tuple of it, the index tuple of the tensor it came from.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/tensor.h"
#include "tests/errors.h"

namespace tessera {
namespace {

using test::throws;
using Index = std::vector<index_t>;

constexpr index_t kMost = std::numeric_limits<index_t>::max();
constexpr index_t kLeast = std::numeric_limits<index_t>::min();

std::vector<index_t> values_of(const Tensor& x) {
  return x.to_vector<index_t>();
}

// ---- the examples ----

TEST(TransposeTest, ExchangesTwoAxes) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.transpose(0, 2).shape(), Shape({4, 3, 2}));
  EXPECT_EQ(x.transpose(0, -1).item_at({3, 1, 0}), 7);
  EXPECT_EQ(x.t().shape(), Shape({2, 4, 3}));
  EXPECT_TRUE(x.t().storage() == x.storage());
  EXPECT_TRUE(throws("transpose", {"axis 3", "3 axes"}, [&] { x.transpose(0, 3); }));
  EXPECT_TRUE(throws("transpose", {"axis -2", "1 axes"}, [] { arange(3).t(); }));
}

TEST(PermuteTest, RefusesWhatIsNoPermutation) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.permute({2, 0, -2}).shape(), Shape({4, 2, 3}));
  EXPECT_EQ(x.permute({2, 0, 1}).item_at({3, 1, 2}), 23);
  EXPECT_TRUE(throws("permute", {"(0, 1)", "(2, 3, 4)"}, [&] { x.permute({0, 1}); }));
  EXPECT_TRUE(throws("permute", {"twice", "(0, 1, -2)"}, [&] { x.permute({0, 1, -2}); }));
  EXPECT_TRUE(throws("permute", {"axis 3"}, [&] { x.permute({0, 1, 3}); }));
  EXPECT_EQ(tensor(1).permute({}).shape(), Shape{});
}

TEST(SliceTest, FollowsPython) {
  const Tensor x = arange(5);
  EXPECT_EQ(values_of(x.slice(0, 1, 4)), Index({1, 2, 3}));
  EXPECT_EQ(values_of(x.slice(0, -2)), Index({3, 4}));
  EXPECT_EQ(values_of(x.slice(0, {}, -3)), Index({0, 1}));
  EXPECT_EQ(values_of(x.slice(0, {}, {}, 2)), Index({0, 2, 4}));
  EXPECT_EQ(values_of(x.slice(0, {}, {}, -1)), Index({4, 3, 2, 1, 0}));
  EXPECT_EQ(values_of(x.slice(0, -1, 0, -2)), Index({4, 2}));
  EXPECT_EQ(values_of(x.slice(0, 3, 1)), Index({}));
  EXPECT_EQ(values_of(x.slice(0, 100)), Index({}));
  EXPECT_EQ(values_of(x.slice(0, kLeast, kMost)), Index({0, 1, 2, 3, 4}));
  EXPECT_EQ(values_of(x.slice(0, kMost, kLeast, kLeast)), Index({4}));
  EXPECT_EQ(values_of(x.slice(0, 1, {}, kMost)), Index({1}));
  EXPECT_EQ(arange(0).slice(0, {}, {}, -1).count(), 0);
  EXPECT_TRUE(throws("slice", {"step", "0"}, [&] { x.slice(0, 0, 1, 0); }));
  EXPECT_TRUE(throws("slice", {"axis 1"}, [&] { x.slice(1, 0); }));
}

/// What Python's range(n)[start:stop:step] is, spelled out from its reference manual.
Index python_slice(index_t n, std::optional<index_t> start, std::optional<index_t> stop,
                   index_t step) {
  Index taken;
  const auto place = [&](index_t bound) { return bound < 0 ? bound + n : bound; };
  const index_t i = start ? place(*start) : (step > 0 ? 0 : n - 1);
  const index_t j = stop ? place(*stop) : (step > 0 ? n : -1);
  // Every position that the unbounded walk from i meets, as long as it has not passed j.
  for (index_t p = -3 * n - 10; p <= 3 * n + 10; ++p) {
    const index_t at = step > 0 ? p : -p;
    const bool inside = step > 0 ? at >= i && at < j : at <= i && at > j;
    const bool exists = at >= 0 && at < n;
    if (!inside || !exists) continue;
    // A start outside is moved to the first element in the direction of the walk.
    const index_t first = step > 0 ? std::max<index_t>(i, 0) : std::min(i, n - 1);
    if ((at - first) % step == 0) taken.push_back(at);
  }
  return taken;
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
  EXPECT_TRUE(throws("select", {"index 2", "axis 0", "(2, 3)"}, [&] { x.select(0, 2); }));
  EXPECT_TRUE(throws("select", {"index -4"}, [&] { x.select(1, -4); }));
  EXPECT_TRUE(throws("select", {"index 0"}, [] { zeros({0}).select(0, 0); }));
}

TEST(ExpandTest, StretchesSizesOfOne) {
  const Tensor x = arange(3).reshape({3, 1});
  const Tensor y = x.expand({2, -1, 2});
  EXPECT_EQ(y.shape(), Shape({2, 3, 2}));
  EXPECT_EQ(y.strides(), Strides({0, 1, 0}));
  EXPECT_EQ(values_of(y), Index({0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(x.expand({3, 0}).count(), 0);
  EXPECT_TRUE(throws("expand", {"(3, 1)", "(4, 2)"}, [&] { x.expand({4, 2}); }));
  EXPECT_TRUE(throws("expand", {"(3, 1)", "(3,)"}, [&] { x.expand({3}); }));
  EXPECT_TRUE(throws("expand", {"(-1, 3, 1)"}, [&] { x.expand({-1, 3, 1}); }));
  EXPECT_TRUE(throws("expand", {"(3, -2)"}, [&] { x.expand({3, -2}); }));
}

TEST(ExpandTest, CountsBeyond32BitsAndRefusesBeyond64) {
  const Tensor one = tensor({1});
  const index_t huge = (index_t{1} << 32) + 1;
  EXPECT_EQ(one.expand({huge}).count(), huge);
  EXPECT_EQ(one.expand({huge}).item_at({huge - 1}), 1);
  const index_t half = index_t{1} << 62;
  EXPECT_TRUE(throws("expand", {"more elements"}, [&] { one.expand({half, half}); }));
}

TEST(SqueezeTest, RemovesOnlySizesOfOne) {
  const Tensor x = arange(6).reshape({1, 2, 1, 3});
  EXPECT_EQ(x.squeeze().shape(), Shape({2, 3}));
  EXPECT_EQ(x.squeeze(0).shape(), Shape({2, 1, 3}));
  EXPECT_EQ(x.squeeze(-2).shape(), Shape({1, 2, 3}));
  EXPECT_EQ(tensor({{1}}).squeeze().shape(), Shape{});
  EXPECT_TRUE(throws("squeeze", {"axis 1", "size 2"}, [&] { x.squeeze(1); }));
  EXPECT_EQ(x.unsqueeze(0).shape(), Shape({1, 1, 2, 1, 3}));
  EXPECT_EQ(x.unsqueeze(-1).shape(), Shape({1, 2, 1, 3, 1}));
  EXPECT_EQ(tensor(1).unsqueeze(0).shape(), Shape({1}));
  EXPECT_TRUE(throws("unsqueeze", {"axis 5"}, [&] { x.unsqueeze(5); }));
  EXPECT_TRUE(throws("shape", {"at most 8"}, [] { zeros(Shape::filled(8, 1)).unsqueeze(0); }));
}

TEST(ReshapeTest, IsAViewWhereTheStridesAllowIt) {
  const Tensor x = arange(24).reshape({2, 3, 4});
  const auto is_view = [](const Tensor& from, const Shape& shape) {
    return from.reshape(shape).storage() == from.storage();
  };
  EXPECT_TRUE(is_view(x, {24}));
  EXPECT_TRUE(is_view(x, {4, 1, 6}));
  EXPECT_TRUE(is_view(x.slice(0, 1), {12}));
  EXPECT_TRUE(is_view(x.slice(2, 1), {6, 3}));   // the axes before the cut one merge
  EXPECT_FALSE(is_view(x.slice(2, 1), {2, 9}));  // the cut one does not
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
  EXPECT_TRUE(throws("reshape", {"(6,)", "(4, -1)"}, [&] { x.reshape({4, -1}); }));
  EXPECT_TRUE(throws("reshape", {"(6,)", "(2, 2)", "4 elements"}, [&] { x.reshape({2, 2}); }));
  EXPECT_TRUE(throws("reshape", {"more than one", "(-1, -1)"}, [&] { x.reshape({-1, -1}); }));
  EXPECT_TRUE(throws("reshape", {"negative"}, [&] { x.reshape({-2, -3}); }));
  EXPECT_TRUE(throws("reshape", {"(0, -1)"}, [] { zeros({0}).reshape({0, -1}); }));
  const index_t half = index_t{1} << 62;
  EXPECT_TRUE(throws("reshape", {"more elements"}, [&] { x.reshape({half, half}); }));
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
  EXPECT_TRUE(throws("flatten", {"axis 2", "axis 0"}, [&] { x.flatten(2, 0); }));
  EXPECT_TRUE(throws("unflatten", {"(3,)", "(2, 2)"}, [&] { x.unflatten(1, {2, 2}); }));
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
  EXPECT_TRUE(throws("chunk", {"positive", "0"}, [] { arange(3).chunk(0); }));
}

TEST(SplitTest, TakesEverySize) {
  const Tensor x = arange(12).reshape({2, 6});
  const auto pieces = x.split({1, 0, 5}, 1);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(values_of(pieces[0]), Index({0, 6}));
  EXPECT_EQ(pieces[1].shape(), Shape({2, 0}));
  EXPECT_EQ(values_of(pieces[2]), Index({1, 2, 3, 4, 5, 7, 8, 9, 10, 11}));
  EXPECT_TRUE(pieces[2].storage() == x.storage());
  EXPECT_TRUE(throws("split", {"[1, 4]", "axis 1", "(2, 6)"}, [&] { x.split({1, 4}, 1); }));
  EXPECT_TRUE(throws("split", {"[7, -1]"}, [&] { x.split({7, -1}, 1); }));
  EXPECT_TRUE(throws("split", {"axis 1"}, [&] { x.split({kMost, kMost, 8}, 1); }));
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
  EXPECT_TRUE(throws("diagonal", {"same"}, [&] { x.diagonal(0, 1, -1); }));
}

TEST(ViewsTest, OfEmptyTensorsStayInsideTheStorage) {
  const index_t huge = index_t{1} << 61;
  const Tensor x = zeros({huge, 2, 0}, kFloat64);
  EXPECT_EQ(x.select(0, huge - 1).untyped_data(), x.untyped_data());
  EXPECT_EQ(x.slice(0, huge - 1).untyped_data(), x.untyped_data());
  EXPECT_EQ(x.diagonal(0, 0, 1).untyped_data(), x.untyped_data());
}

// ---- the property: any chain of views reads what the index walk reads ----

/// The elements of a view, found by walking its indices, and its shape.
struct Walked {
  Index shape;
  std::vector<index_t> values;  // row-major
};

/// Calls body(index) for every index tuple of `shape`, in row-major order.
void walk(const Index& shape, const std::function<void(const Index&)>& body) {
  index_t count = 1;
  for (index_t n : shape) count *= n;
  for (index_t flat = 0; flat < count; ++flat) {
    Index index(shape.size());
    index_t rest = flat;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    body(index);
  }
}

/// The view of `from` with `shape` whose element at `index` is from's element at source(index).
Walked walked_view(const Walked& from, const Index& shape,
                   const std::function<Index(Index)>& source) {
  Walked result{shape, {}};
  walk(shape, [&](const Index& index) {
    const Index at = source(index);
    index_t flat = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) flat = flat * from.shape[axis] + at[axis];
    result.values.push_back(from.values.at(static_cast<std::size_t>(flat)));
  });
  return result;
}

class RandomViews {
 public:
  explicit RandomViews(std::uint64_t seed) : random_(seed) {
    Index shape;
    for (index_t axis = pick(0, 4); axis > 0; --axis)
      shape.push_back(pick(0, 11) == 0 ? 0 : pick(1, 4));
    index_t count = 1;
    for (index_t n : shape) count *= n;
    tensor_ = arange(count).reshape(shape);
    walked_.shape = shape;
    for (index_t i = 0; i < count; ++i) walked_.values.push_back(i);
    steps_ = format("arange(", count, ").reshape", Shape(shape));
  }

  void step() {
    switch (pick(0, 6)) {
      case 0:
        return permute();
      case 1:
        return slice();
      case 2:
        return select();
      case 3:
        return unsqueeze();
      case 4:
        return expand();
      case 5:
        return reshape();
      default:
        return diagonal();
    }
  }

  void check() const {
    ASSERT_EQ(tensor_.shape(), Shape(walked_.shape)) << steps_;
    ASSERT_EQ(tensor_.count(), std::ssize(walked_.values)) << steps_;
    ASSERT_EQ(values_of(tensor_), walked_.values) << steps_;
    std::size_t i = 0;
    walk(walked_.shape, [&](const Index& index) {
      ASSERT_EQ(tensor_.item_at<index_t>(index), walked_.values[i]) << steps_ << Shape(index);
      ++i;
    });
  }

 private:
  index_t pick(index_t low, index_t high) {
    return std::uniform_int_distribution<index_t>(low, high)(random_);
  }
  std::size_t pick_axis() { return static_cast<std::size_t>(pick(0, rank() - 1)); }
  index_t rank() const { return std::ssize(walked_.shape); }
  void apply(Tensor view, const Index& shape, const std::function<Index(Index)>& source,
             const std::string& what) {
    tensor_ = std::move(view);
    walked_ = walked_view(walked_, shape, source);
    steps_ += "." + what;
  }

  void permute() {
    Index axes(static_cast<std::size_t>(rank()));
    std::iota(axes.begin(), axes.end(), index_t{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    Index shape;
    for (index_t axis : axes) shape.push_back(walked_.shape[static_cast<std::size_t>(axis)]);
    const auto source = [&](const Index& index) {
      Index at(index.size());
      for (std::size_t i = 0; i < index.size(); ++i)
        at[static_cast<std::size_t>(axes[i])] = index[i];
      return at;
    };
    apply(tensor_.permute(axes), shape, source, format("permute", Shape(axes)));
  }

  void slice() {
    if (rank() == 0) return;
    const std::size_t axis = pick_axis();
    const index_t start = pick(-5, 5);
    const index_t stop = pick(-5, 5);
    const index_t step = pick(0, 1) == 0 ? pick(1, 3) : pick(-3, -1);
    const Index taken = python_slice(walked_.shape[axis], start, stop, step);
    Index shape = walked_.shape;
    shape[axis] = std::ssize(taken);
    const auto source = [&](Index index) {
      index[axis] = taken[static_cast<std::size_t>(index[axis])];
      return index;
    };
    apply(tensor_.slice(static_cast<index_t>(axis), start, stop, step), shape, source,
          format("slice(", axis, ", ", start, ", ", stop, ", ", step, ")"));
  }

  void select() {
    if (rank() == 0) return;
    const std::size_t axis = pick_axis();
    if (walked_.shape[axis] == 0) return;
    const index_t at = pick(0, walked_.shape[axis] - 1);
    Index shape = walked_.shape;
    shape.erase(shape.begin() + static_cast<index_t>(axis));
    const auto source = [&](Index index) {
      index.insert(index.begin() + static_cast<index_t>(axis), at);
      return index;
    };
    apply(tensor_.select(static_cast<index_t>(axis), at), shape, source,
          format("select(", axis, ", ", at, ")"));
  }

  void unsqueeze() {
    if (rank() == 6) return;
    const index_t axis = pick(0, rank());
    Index shape = walked_.shape;
    shape.insert(shape.begin() + axis, 1);
    const auto source = [&](Index index) {
      index.erase(index.begin() + axis);
      return index;
    };
    apply(tensor_.unsqueeze(axis), shape, source, format("unsqueeze(", axis, ")"));
  }

  void expand() {
    Index shape = walked_.shape;
    for (index_t& n : shape) {
      if (n == 1) n = pick(1, 3);
    }
    const index_t lead = rank() < 5 ? pick(0, 1) : 0;
    if (lead == 1) shape.insert(shape.begin(), pick(1, 3));
    const auto source = [&](Index index) {
      index.erase(index.begin(), index.begin() + lead);
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (walked_.shape[i] == 1) index[i] = 0;
      }
      return index;
    };
    apply(tensor_.expand(shape), shape, source, format("expand", Shape(shape)));
  }

  /// Any shape of as many elements: its factors dealt out at random, with some ones among them.
  void reshape() {
    auto count = std::ssize(walked_.values);
    if (count == 0 || count > 2000) return;
    Index shape;
    while (std::ssize(shape) < 5 && count > 1) {
      const index_t factor = pick(1, std::min<index_t>(count, 6));
      if (count % factor != 0) continue;
      shape.push_back(factor);
      count /= factor;
    }
    shape.push_back(count);
    const bool was_contiguous = tensor_.is_contiguous();
    const Tensor before = tensor_;
    tensor_ = before.reshape(shape);
    EXPECT_TRUE(!was_contiguous || tensor_.storage() == before.storage()) << steps_;
    walked_.shape = shape;  // the same elements in row-major order
    steps_ += format(".reshape", Shape(shape));
  }

  void diagonal() {
    if (rank() < 2) return;
    const std::size_t a = pick_axis();
    const std::size_t b = pick_axis();
    if (a == b) return;
    const index_t offset = pick(-3, 3);
    index_t n = 0;
    for (index_t i = 0; i < walked_.shape[a]; ++i) {
      if (i + offset >= 0 && i + offset < walked_.shape[b]) ++n;
    }
    Index shape;
    for (std::size_t i = 0; i < walked_.shape.size(); ++i) {
      if (i != a && i != b) shape.push_back(walked_.shape[i]);
    }
    shape.push_back(n);
    const auto source = [&](Index index) {
      const index_t k = index.back();
      index.pop_back();
      const index_t row = k + std::max<index_t>(-offset, 0);
      for (std::size_t axis : {std::min(a, b), std::max(a, b)}) {
        index.insert(index.begin() + static_cast<index_t>(axis), axis == a ? row : row + offset);
      }
      return index;
    };
    apply(tensor_.diagonal(offset, static_cast<index_t>(a), static_cast<index_t>(b)), shape, source,
          format("diagonal(", offset, ", ", a, ", ", b, ")"));
  }

  std::mt19937_64 random_;
  Tensor tensor_;
  Walked walked_;
  std::string steps_;
};

TEST(ViewsTest, ChainsReadWhatTheIndexWalkReads) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomViews views(seed);
    for (int step = 0; step < 6; ++step) {
      views.step();
      views.check();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tessera
