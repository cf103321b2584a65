// Any chain of views reads the same elements as a loop over its indices. The oracle: a view is a
// shape and, for each of its index tuples, the index tuple in the original tensor.

#include <random>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/tensor.h"
#include "tests/support/python_slice.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::python_slice;
using Index = std::vector<index_t>;

/// The elements of a view, found by a loop over its indices, and its shape.
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
    storage_ = tensor_.storage();
    walked_.shape = shape;
    for (index_t i = 0; i < count; ++i) walked_.values.push_back(i);
    steps_ = str_cat("arange(", count, ").reshape", Shape(shape));
  }

  void step() {
    switch (pick(0, 7)) {
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
      case 6:
        return toeplitz();
      default:
        return diagonal();
    }
  }

  void check() const {
    ASSERT_EQ(tensor_.shape(), Shape(walked_.shape)) << steps_;
    ASSERT_EQ(tensor_.count(), std::ssize(walked_.values)) << steps_;
    ASSERT_EQ(tensor_.to_vector<index_t>(), walked_.values) << steps_;
    std::size_t i = 0;
    walk(walked_.shape, [&](const Index& index) {
      ASSERT_EQ(tensor_.item_at<index_t>(index), walked_.values[i]) << steps_ << Shape(index);
      ++i;
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
    apply(tensor_.permute(axes), shape, source, str_cat("permute", Shape(axes)));
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
          str_cat("slice(", axis, ", ", start, ", ", stop, ", ", step, ")"));
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
          str_cat("select(", axis, ", ", at, ")"));
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
    apply(tensor_.unsqueeze(axis), shape, source, str_cat("unsqueeze(", axis, ")"));
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
    apply(tensor_.expand(shape), shape, source, str_cat("expand", Shape(shape)));
  }

  /// Any shape with as many elements: its factors in random order, with some ones added.
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
    steps_ += str_cat(".reshape", Shape(shape));
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
          str_cat("diagonal(", offset, ", ", a, ", ", b, ")"));
  }

  void toeplitz() {
    if (rank() < 1 || rank() > 3) return;
    const index_t rows = pick(0, walked_.shape.back() + 1);
    const index_t columns = walked_.shape.back() - rows + 1;
    Index shape = walked_.shape;
    shape.back() = rows;
    shape.push_back(columns);
    const auto source = [&](Index index) {
      const index_t column = index.back();
      index.pop_back();
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
