#include "tessera/tensor/ops/sort.h"

#include "tessera/tensor/autograd/tape.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

/// Whether a comes before b in ascending order, with NaN as the greatest.
bool ascends(double a, double b) {
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

/// The indices along `axis` in order: std::stable_sort of each line.
Array naive_argsort(const Array& x, index_t axis, bool descending) {
  Shape lines = x.shape;
  lines[axis] = 1;
  Array result = x;
  for_each_index(lines, [&](Dims at) {
    std::vector<index_t> order(static_cast<std::size_t>(x.shape[axis]));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](index_t i) {
      at[axis] = i;
      return x.at(at);
    };
    std::stable_sort(order.begin(), order.end(), [&](index_t i, index_t j) {
      return descending ? ascends(value(j), value(i)) : ascends(value(i), value(j));
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      at[axis] = static_cast<index_t>(i);
      result.at(at) = static_cast<double>(order[i]);
    }
  });
  return result;
}

/// The elements of x at `indices` along `axis`.
Array naive_gather(const Array& x, index_t axis, const Array& indices) {
  return build(indices.shape, [&](Dims at) {
    at[axis] = static_cast<index_t>(indices.at(at));
    return x.at(at);
  });
}

/// The first k along `axis`.
Array first_of(const Array& x, index_t axis, index_t k) {
  Shape shape = x.shape;
  shape[axis] = k;
  return build(shape, [&](const Dims& at) { return x.at(at); });
}

void expect_ordered(const Tensor& x, index_t axis, bool descending) {
  const Array want = naive_argsort(array(x), axis, descending);
  const Tensor indices = argsort(x, axis, descending);
  EXPECT_TRUE(exactly(indices, want));
  EXPECT_EQ(indices.dtype(), kInt64);
  const Ordered sorted = sort(x, axis - x.rank(), descending);
  EXPECT_TRUE(same_bits(sorted.indices, indices));
  EXPECT_TRUE(exactly(sorted.values, naive_gather(array(x), axis, want)));
  EXPECT_EQ(sorted.values.dtype(), x.dtype());
  for (const index_t k : {index_t{0}, (x.size(axis) + 2) / 3, x.size(axis) / 2, x.size(axis)}) {
    const Ordered top = topk(x, k, axis, descending);
    EXPECT_TRUE(exactly(top.indices, first_of(want, axis, k))) << "k = " << k;
    EXPECT_TRUE(exactly(top.values, first_of(array(sorted.values), axis, k)));
  }
}

TEST(Sort, EveryLayoutAxisAndDtype) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Shape& shape : {Shape{3, 5, 17}, Shape{1, 33}, Shape{4}, Shape{2, 0, 3}}) {
      for (const Layout& x : random_layouts(shape, dtype, 1, -5, 5)) {
        for (index_t axis = 0; axis < shape.size(); ++axis) {
          for (const bool descending : {false, true}) {
            SCOPED_TRACE(testing::Message() << x.name << ", axis " << axis << " of " << shape);
            expect_ordered(x.tensor, axis, descending);
          }
        }
      }
    }
  }
}

TEST(Sort, AnyNumberOfTheFirst) {
  const Tensor x = random_tensor({2, 300}, kFloat32, 3, 0, 40).to(kInt64).to(kFloat32);
  const Array by_value = naive_argsort(array(x), 1, true);
  for (const index_t k : {0, 1, 4, 5, 150, 299, 300}) {
    EXPECT_TRUE(exactly(topk(x, k).indices, first_of(by_value, 1, k))) << "k = " << k;
  }
}

TEST(Sort, NanIsTheGreatestAndEqualsKeepTheirOrder) {
  const Tensor x = tensor({2.0, kNaN, -kInf, 0.0, kInf, -0.0, -kNaN, 2.0, 0.0});
  expect_ordered(x, 0, false);
  expect_ordered(x, 0, true);
  EXPECT_TRUE(same_bits(argsort(x), tensor({2, 3, 5, 8, 0, 7, 4, 1, 6})));
  EXPECT_TRUE(same_bits(argsort(x, 0, true), tensor({1, 6, 4, 0, 7, 3, 5, 8, 2})));
  EXPECT_TRUE(same_bits(topk(x, 2).indices, tensor({1, 6})));
  EXPECT_TRUE(same_bits(topk(x, 3, -1, false).indices, tensor({2, 3, 5})));
}

TEST(Sort, WholeNumbersBeyondDoublePrecision) {
  const index_t big = index_t{1} << 60;
  const Tensor x = from_vector(std::vector<index_t>{big + 1, big, big + 2, -big - 1, -big});
  EXPECT_TRUE(same_bits(argsort(x), tensor({3, 4, 1, 0, 2})));
}

TEST(Sort, TheSameOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({300, 200}, kFloat32, 2, 0, 20).to(kInt64).to(kFloat32);
  same_on_any_threads([&] { return argsort(x); });
  same_on_any_threads([&] { return topk(x, 7).indices; });
}

TEST(Sort, IndicesAreNoVariables) {
  const Tensor x = tensor({3.0, 1.0, 2.0}).set_requires_grad();
  Tape tape;
  EXPECT_FALSE(argsort(x).requires_grad());
  const auto [values, indices] = topk(x, 2);
  EXPECT_FALSE(indices.requires_grad());
  tape.backward(values, tensor({10.0, 20.0}));
  EXPECT_TRUE(same_bits(x.grad(), tensor({10.0, 0.0, 20.0})));
}

TEST(Sort, Errors) {
  const Tensor x = zeros({2, 3});
  fails("sort", {"axis must be in [", "got 2"}, [&] { sort(x, 2); });
  fails("argsort", {"axis must be in [", "got -3"}, [&] { argsort(x, -3); });
  fails("topk", {"got 4", "[0, 3]", "(2, 3)"}, [&] { topk(x, 4); });
  fails("topk", {"k must be in [0, 2]", "got -1"}, [&] { topk(x, -1, 0); });
  fails("topk", {"axis must be in [", "got 0"}, [] { topk(tensor(1.0), 1, 0); });
  fails("sort", "undefined", [] { sort(Tensor()); });
  fails("argsort", "undefined", [] { argsort(Tensor()); });
  fails("topk", "undefined", [] { topk(Tensor(), 0); });
}

}  // namespace
}  // namespace tessera::test
