// Any chain of views reads the same elements as a loop over its indices. The oracle: a view is a
// shape and, for each of its index tuples, the index tuple in the original tensor.

#include <random>

#include "tessera/tensor/error.h"
#include "tests/support/oracle.h"
#include "tests/support/python_slice.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;
using Source = std::function<Dims(Dims)>;

class RandomViews {
 public:
  explicit RandomViews(std::uint64_t seed) : random_(seed) {
    Shape shape;
    for (index_t axis = pick(0, 4); axis > 0; --axis) {
      shape.push_back(pick(0, 11) == 0 ? 0 : pick(1, 4));
    }
    index_t count = 1;
    for (index_t n : shape) count *= n;
    tensor_ = arange(count).reshape(shape);
    storage_ = tensor_.storage();
    walked_.shape = shape;
    for (index_t i = 0; i < count; ++i) walked_.values.push_back(static_cast<double>(i));
    steps_ = str_cat("arange(", count, ").reshape", shape);
  }

  void step() {
    constexpr std::array kSteps = {&RandomViews::permute,  &RandomViews::slice,
                                   &RandomViews::select,   &RandomViews::unsqueeze,
                                   &RandomViews::expand,   &RandomViews::reshape,
                                   &RandomViews::toeplitz, &RandomViews::diagonal};
    (this->*kSteps[static_cast<std::size_t>(pick(0, 7))])();
  }

  void check() const {
    ASSERT_EQ(tensor_.shape(), walked_.shape) << steps_;
    ASSERT_EQ(tensor_.count(), std::ssize(walked_.values)) << steps_;
    ASSERT_EQ(tensor_.to(kFloat64).to_vector<double>(), walked_.values) << steps_;
    for_each_index(walked_.shape, [&](const Dims& index) {
      ASSERT_EQ(tensor_.item_at(index), walked_.at(index)) << steps_ << index;
    });
    if (!(tensor_.storage() == storage_)) return;  // a copy shares nothing
    if (has_equal_elements()) {
      ASSERT_TRUE(tensor_.is_broadcast()) << steps_;
    } else if (!has_toeplitz_ && tensor_.count() > 0) {  // its slices may count as broadcast
      ASSERT_FALSE(tensor_.is_broadcast()) << steps_;
    }
  }

 private:
  bool has_equal_elements() const {
    return std::set(walked_.values.begin(), walked_.values.end()).size() < walked_.values.size();
  }
  index_t pick(index_t low, index_t high) {
    return std::uniform_int_distribution<index_t>(low, high)(random_);
  }
  index_t pick_axis() { return pick(0, rank() - 1); }
  index_t rank() const { return walked_.shape.size(); }

  /// Takes the view whose element at `index` is the element at source(index).
  void apply(Tensor view, const Shape& shape, const Source& source, const std::string& what) {
    tensor_ = std::move(view);
    walked_ = build(shape, [&](const Dims& index) { return walked_.at(source(index)); });
    steps_ += "." + what;
  }

  void permute() {
    std::vector<index_t> axes(static_cast<std::size_t>(rank()));
    std::iota(axes.begin(), axes.end(), index_t{0});
    std::shuffle(axes.begin(), axes.end(), random_);
    Shape shape;
    for (index_t axis : axes) shape.push_back(walked_.shape[axis]);
    const auto source = [&](const Dims& index) {
      Dims at = index;
      for (index_t i = 0; i < index.size(); ++i) at[axes[static_cast<std::size_t>(i)]] = index[i];
      return at;
    };
    apply(tensor_.permute(axes), shape, source, str_cat("permute", Shape(axes)));
  }

  void slice() {
    if (rank() == 0) return;
    const index_t axis = pick_axis();
    const index_t start = pick(-5, 5);
    const index_t stop = pick(-5, 5);
    const index_t step = pick(0, 1) == 0 ? pick(1, 3) : pick(-3, -1);
    const auto taken = python_slice(walked_.shape[axis], start, stop, step);
    Shape shape = walked_.shape;
    shape[axis] = std::ssize(taken);
    const auto source = [&](Dims index) {
      index[axis] = taken[static_cast<std::size_t>(index[axis])];
      return index;
    };
    apply(tensor_.slice(axis, start, stop, step), shape, source,
          str_cat("slice(", axis, ", ", start, ", ", stop, ", ", step, ")"));
  }

  void select() {
    if (rank() == 0) return;
    const index_t axis = pick_axis();
    if (walked_.shape[axis] == 0) return;
    const index_t at = pick(0, walked_.shape[axis] - 1);
    Shape shape = walked_.shape;
    shape.erase(axis);
    const auto source = [&](Dims index) {
      index.insert(axis, at);
      return index;
    };
    apply(tensor_.select(axis, at), shape, source, str_cat("select(", axis, ", ", at, ")"));
  }

  void unsqueeze() {
    if (rank() == 6) return;
    const index_t axis = pick(0, rank());
    Shape shape = walked_.shape;
    shape.insert(axis, 1);
    const auto source = [&](Dims index) {
      index.erase(axis);
      return index;
    };
    apply(tensor_.unsqueeze(axis), shape, source, str_cat("unsqueeze(", axis, ")"));
  }

  void expand() {
    Shape shape = walked_.shape;
    for (index_t axis = 0; axis < rank(); ++axis) {
      if (shape[axis] == 1) shape[axis] = pick(1, 3);
    }
    const bool has_new_axis = rank() < 5 && pick(0, 1) == 1;
    if (has_new_axis) shape.insert(0, pick(1, 3));
    const auto source = [&](Dims index) {
      if (has_new_axis) index.erase(0);
      for (index_t axis = 0; axis < index.size(); ++axis) {
        if (walked_.shape[axis] == 1) index[axis] = 0;
      }
      return index;
    };
    apply(tensor_.expand(shape), shape, source, str_cat("expand", shape));
  }

  /// Any shape with as many elements: its factors in random order, with some ones added.
  void reshape() {
    auto count = std::ssize(walked_.values);
    if (count == 0 || count > 2000) return;
    Shape shape;
    while (shape.size() < 5 && count > 1) {
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
    steps_ += str_cat(".reshape", shape);
  }

  void diagonal() {
    if (rank() < 2) return;
    const index_t a = pick_axis();
    const index_t b = pick_axis();
    if (a == b) return;
    const index_t offset = pick(-3, 3);
    index_t n = 0;
    for (index_t i = 0; i < walked_.shape[a]; ++i) {
      if (i + offset >= 0 && i + offset < walked_.shape[b]) ++n;
    }
    Shape shape = walked_.shape;
    shape.erase(std::max(a, b));
    shape.erase(std::min(a, b));
    shape.push_back(n);
    const auto source = [&](Dims index) {
      const index_t row = index.back() + std::max<index_t>(-offset, 0);
      index.erase(index.size() - 1);
      for (index_t axis : {std::min(a, b), std::max(a, b)}) {
        index.insert(axis, axis == a ? row : row + offset);
      }
      return index;
    };
    apply(tensor_.diagonal(offset, a, b), shape, source,
          str_cat("diagonal(", offset, ", ", a, ", ", b, ")"));
  }

  void toeplitz() {
    if (rank() < 1 || rank() > 3) return;
    const index_t rows = pick(0, walked_.shape.back() + 1);
    const index_t columns = walked_.shape.back() - rows + 1;
    Shape shape = walked_.shape;
    shape.back() = rows;
    shape.push_back(columns);
    const auto source = [&](Dims index) {
      const index_t column = index.back();
      index.erase(index.size() - 1);
      index.back() = column - index.back() + rows - 1;
      return index;
    };
    has_toeplitz_ = true;
    apply(tensor_.toeplitz(rows, columns), shape, source, str_cat("toeplitz(", rows, ")"));
  }

  std::mt19937_64 random_;
  bool has_toeplitz_ = false;
  Tensor tensor_;
  Storage storage_;  // of the elements that are all different
  Array walked_;     // the elements of the view, by a loop over its indices
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
