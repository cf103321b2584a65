#include "tensor/ops/indexing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tensor/kernels/parallel.h"
#include "tests/support/errors.h"
#include "tests/support/oracle.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

std::vector<Layout> scattered_ids(const Shape& shape, index_t limit, std::uint64_t seed) {
  return random_layouts(shape, kInt64, seed, 0, static_cast<double>(limit));
}

/// The elements of `source` at the places of `index`, added to x in row-major order.
Array naive_scatter_add(Array x, index_t axis, const Array& index, const Array& source) {
  for_each_index(index.shape, [&](Dims at) {
    const double part = source.at(at);
    at[axis] = static_cast<index_t>(index.at(at));
    x.at(at) += part;
  });
  return x;
}

Array naive_index_add(Array x, index_t axis, const Array& ids, const Array& source, double alpha) {
  for_each_index(source.shape, [&](Dims at) {
    const double part = alpha * source.at(at);
    at[axis] = static_cast<index_t>(ids.at({at[axis]}));
    x.at(at) += part;
  });
  return x;
}

double allowed(DType dtype) {
  return dtype == kInt64 ? 0 : 30 * rounding(dtype);
}

TEST(ScatterAdd, EveryAxisLayoutAndDtype) {
  for (const DType dtype : {kInt64, kFloat32, kFloat64}) {
    for (const Layout& x : random_layouts({4, 5, 6}, dtype, 1, -9, 9)) {
      for (index_t axis = 0; axis < 3; ++axis) {
        Shape shape = {3, 4, 5};
        shape[axis] = 8;
        Shape wide = {4, 4, 7};  // the source may be larger
        wide[axis] = 9;
        for (const Layout& index : scattered_ids(shape, 4, 2)) {
          for (const Shape& of_source : {shape, wide}) {
            const Layout source = random_layouts(of_source, dtype, 3, -9, 9)[1];
            const Array want =
                naive_scatter_add(array(x.tensor), axis, array(index.tensor), array(source.tensor));
            const Tensor got = scatter_add(x.tensor, axis - 3, index.tensor, source.tensor);
            EXPECT_TRUE(near(got, want, allowed(dtype), 9 * allowed(dtype)))
                << x.name << ", index " << index.name << ", axis " << axis;
            EXPECT_EQ(got.dtype(), dtype);
          }
        }
      }
    }
  }
}

TEST(ScatterAdd, SmallCases) {
  EXPECT_TRUE(same_bits(scatter_add(zeros({3}, kInt64), 0, tensor({2, 0, 2, 2}), ones({4}, kInt64)),
                        tensor({1, 0, 3})));
  EXPECT_TRUE(same_bits(
      scatter_add(tensor({false, true, false}), 0, tensor({0, 1, 0}), tensor({true, false, true})),
      tensor({true, true, false})));
  const Tensor x = tensor({1.0, 2.0});
  const Tensor same = scatter_add(x, 0, zeros({0}, kInt64), zeros({5}));
  EXPECT_TRUE(same_bits(same, x));
  EXPECT_FALSE(same.storage() == x.storage());
  const Tensor most = from_vector(std::vector<index_t>{INT64_MAX});
  EXPECT_EQ(scatter_add(most, 0, tensor({0}), tensor({1})).item<index_t>(), INT64_MIN);
}

TEST(IndexAdd, EveryAxisLayoutAndDtype) {
  for (const DType dtype : {kInt64, kFloat32, kFloat64}) {
    for (const Layout& x : random_layouts({4, 5, 6}, dtype, 4, -9, 9)) {
      for (index_t axis = 0; axis < 3; ++axis) {
        Shape shape = {4, 5, 6};
        shape[axis] = 9;
        for (const Layout& source : random_layouts(shape, dtype, 5, -9, 9)) {
          const Layout ids = scattered_ids({9}, 4, 6)[2];
          for (const int alpha : {1, -3}) {
            const Array want = naive_index_add(array(x.tensor), axis, array(ids.tensor),
                                               array(source.tensor), alpha);
            const Tensor got = index_add(x.tensor, axis, ids.tensor, source.tensor, alpha);
            EXPECT_TRUE(near(got, want, allowed(dtype), 30 * allowed(dtype)))
                << x.name << ", source " << source.name << ", axis " << axis;
            EXPECT_EQ(got.dtype(), dtype);
          }
        }
      }
    }
  }
  EXPECT_TRUE(same_bits(index_add(tensor({false, false}), 0, tensor({1, 1}), tensor({true, true})),
                        tensor({false, true})));
  EXPECT_TRUE(same_bits(index_add(ones({2, 0}), 0, tensor({1}), ones({1, 0})), ones({2, 0})));
}

/// x, and each element of `source` added to row ids[...] of its column, one after the other. float32
/// sums depend on their order, so no other order has these bits.
Tensor added_in_order(const Tensor& x, const Tensor& ids, const Tensor& source) {
  Tensor sum = x.clone();
  float* const to = sum.mutable_data<float>();
  const auto rows = ids.to_vector<index_t>();
  const auto parts = source.to_vector<float>();
  const index_t columns = x.count() / x.size(0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    to[rows[i] * columns + static_cast<index_t>(i) % columns] += parts[i];
  }
  return sum;
}

TEST(ScatterAdd, AddsInTheOrderOfTheSourceWhateverThreadsDo) {
  for (const Shape& shape : {Shape{4000}, Shape{700, 40}, Shape{40, 700}}) {
    Shape of_x = shape;
    of_x[0] = 7;
    const Tensor x = random_tensor(of_x, kFloat32, 7);
    const Tensor source = random_tensor(shape, kFloat32, 8, -1e3, 1e3);
    const Tensor index = random_tensor(shape, kInt64, 9, 0, 7);
    const Tensor got = same_on_any_threads([&] { return scatter_add(x, 0, index, source); });
    EXPECT_TRUE(same_bits(got, added_in_order(x, index, source)));
  }
}

TEST(IndexAdd, AddsInTheOrderOfTheSourceWhateverThreadsDo) {
  const Tensor x = random_tensor({7, 40}, kFloat32, 10);
  const Tensor source = random_tensor({3000, 40}, kFloat32, 11, -1e3, 1e3);
  const Tensor ids = random_tensor({3000}, kInt64, 12, 0, 7);
  const Tensor got = same_on_any_threads([&] { return index_add(x, 0, ids, source); });
  const Tensor columns = ids.unsqueeze(1).expand({3000, 40});
  EXPECT_TRUE(same_bits(got, added_in_order(x, columns, source)));
}

TEST(ScatterAdd, Errors) {
  const Tensor x = zeros({2, 3});
  const Tensor index = zeros({2, 3}, kInt64);
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& to, index_t axis,
                         const Tensor& ids, const Tensor& source) {
    return throws("scatter_add", parts, [&] { scatter_add(to, axis, ids, source); });
  };
  EXPECT_TRUE(fails({"ids must be in [0, ", "got 3", "3"}, x, 1, full({2, 3}, 3, kInt64), x));
  EXPECT_TRUE(fails({"ids must be in [0, ", "got -1"}, x, 1, full({2, 3}, -1, kInt64), x));
  EXPECT_TRUE(fails({"axis must be in [", "got 2"}, x, 2, index, x));
  EXPECT_TRUE(fails({"float64", "float32"}, x, 1, index, zeros({2, 3}, kFloat64)));
  EXPECT_TRUE(fails({"(3,)", "(2, 3)"}, x, 1, index, zeros({3})));
  EXPECT_TRUE(fails({"(3, 3)", "(2, 3)", "axis 0"}, x, 1, zeros({3, 3}, kInt64), zeros({3, 3})));
  EXPECT_TRUE(fails({"(2, 3)", "source", "(2, 2)", "axis 1"}, x, 1, index, zeros({2, 2})));
  EXPECT_TRUE(fails({"int64", "float32"}, x, 1, zeros({2, 3}), x));
  EXPECT_TRUE(fails({"(2,)"}, x, 1, zeros({2}, kInt64), x));
  EXPECT_TRUE(fails({"undefined"}, Tensor(), 1, index, x));
  EXPECT_TRUE(fails({"undefined"}, x, 1, Tensor(), x));
  EXPECT_TRUE(fails({"undefined"}, x, 1, index, Tensor()));
}

TEST(IndexAdd, Errors) {
  const Tensor x = zeros({2, 3});
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& to, index_t axis,
                         const Tensor& ids, const Tensor& source) {
    return throws("index_add", parts, [&] { index_add(to, axis, ids, source); });
  };
  EXPECT_TRUE(fails({"ids must be in [0, ", "got 2", "2"}, x, 0, tensor({2}), zeros({1, 3})));
  EXPECT_TRUE(fails({"(2, 3)", "(1, 3)", "1 ids"}, x, 0, tensor({1}), zeros({2, 3})));
  EXPECT_TRUE(fails({"(1, 1)"}, x, 0, tensor({{1}}), zeros({1, 3})));
  EXPECT_TRUE(fails({"float64"}, x, 0, tensor({1}), zeros({1, 3}, kFloat64)));
  EXPECT_TRUE(fails({"bool"}, x, 0, tensor({true}), zeros({1, 3})));
  EXPECT_TRUE(fails({"axis must be in [", "got -3"}, x, -3, tensor({1}), zeros({1, 3})));
  EXPECT_TRUE(fails({"undefined"}, x, 0, Tensor(), zeros({1, 3})));
  EXPECT_TRUE(fails({"undefined"}, x, 0, tensor({1}), Tensor()));
  EXPECT_TRUE(throws("index_add", {"int64", "0.5"},
                     [] { index_add(tensor({1}), 0, tensor({0}), tensor({1}), 0.5); }));
}

}  // namespace
}  // namespace tessera::test
