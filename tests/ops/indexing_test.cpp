#include "tessera/tensor/ops/indexing.h"

#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

/// Random ids in [0, limit), in every layout.
std::vector<Layout> random_ids(const Shape& shape, index_t limit, std::uint64_t seed) {
  return random_layouts(shape, kInt64, seed, 0, static_cast<double>(limit));
}

index_t id_at(const Array& ids, const Dims& index) {
  return static_cast<index_t>(ids.at(index));
}

TEST(Embedding, LooksRowsUp) {
  const Tensor weight = tensor({{0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}});
  EXPECT_TRUE(same_bits(embedding(tensor({2, 0, 2}), weight),
                        tensor({{4.0, 5.0}, {0.0, 1.0}, {4.0, 5.0}})));
  EXPECT_TRUE(same_bits(embedding(tensor(1), weight), tensor({2.0, 3.0})));
  EXPECT_TRUE(same_bits(embedding(zeros({2, 0}, kInt64), weight), zeros({2, 0, 2})));
  EXPECT_TRUE(same_bits(embedding(zeros({0}, kInt64), zeros({0, 4})), zeros({0, 4})));
  EXPECT_TRUE(same_bits(embedding(tensor({4}), zeros({5, 0})), zeros({1, 0})));
}

TEST(Embedding, TakesEveryLayoutAndDtype) {
  for (DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Layout& weight : random_layouts({11, 19}, dtype, 1)) {
      for (const Layout& ids : random_ids({3, 7}, 11, 2)) {
        const Array table = array(weight.tensor);
        const Array which = array(ids.tensor);
        const Array want = build({3, 7, 19}, [&](const Dims& i) {
          return table.at({id_at(which, {i[0], i[1]}), i[2]});
        });
        const Tensor got = embedding(ids.tensor, weight.tensor);
        EXPECT_TRUE(exactly(got, want)) << weight.name << ", ids " << ids.name;
        EXPECT_EQ(got.dtype(), dtype);
      }
    }
  }
}

TEST(Embedding, RunsOnSeveralThreads) {
  const Tensor weight = random_tensor({500, 96}, kFloat32, 3);
  const Tensor ids = random_tensor({4000}, kInt64, 4, 0, 500);
  set_thread_count(4);
  const Tensor got = embedding(ids, weight);
  set_thread_count(0);
  const auto rows = ids.to_vector<index_t>();
  for (index_t i = 0; i < ids.count(); ++i) {
    ASSERT_TRUE(same_bits(got.select(0, i), weight.select(0, rows[static_cast<std::size_t>(i)])));
  }
}

TEST(Embedding, NamesAWrongId) {
  const Tensor weight = zeros({5, 2});
  fails("embedding", {"ids must be in [0, ", "got 5", "5 rows"}, [&] {
    embedding(tensor({0, 5}), weight);
  });
  fails("embedding", {"ids must be in [0, ", "got -1", "5 rows"},
        [&] { embedding(tensor(-1), weight); });
  fails("embedding", {"int64", "float32"}, [&] { embedding(tensor(1.0), weight); });
  fails("embedding", {"(V, D)", "(3,)"}, [&] { embedding(tensor(1), zeros({3})); });
  fails("embedding", "undefined", [&] { embedding(Tensor(), weight); });
  fails("embedding", {}, [&] { embedding(tensor(1), Tensor()); });
  fails("embedding", {"ids must be in [0, ", "got 0", "0 rows"}, [&] {
    embedding(tensor(0), zeros({0, 2}));
  });
}

TEST(IndexSelect, TakesEveryAxisAndLayout) {
  for (const Layout& x : random_layouts({4, 5, 6}, kFloat64, 5)) {
    for (index_t axis = 0; axis < 3; ++axis) {
      for (const Layout& ids : random_ids({9}, 4, 6)) {
        const Array from = array(x.tensor);
        const Array which = array(ids.tensor);
        Shape shape = {4, 5, 6};
        shape[axis] = 9;
        const Array want = build(shape, [&](Dims i) {
          i[axis] = id_at(which, {i[axis]});
          return from.at(i);
        });
        EXPECT_TRUE(exactly(index_select(x.tensor, axis, ids.tensor), want))
            << x.name << ", ids " << ids.name << ", axis " << axis;
        EXPECT_TRUE(exactly(index_select(x.tensor, axis - 3, ids.tensor), want));
      }
    }
  }
  EXPECT_TRUE(same_bits(index_select(zeros({2, 3}), 1, zeros({0}, kInt64)), zeros({2, 0})));
}

TEST(IndexSelect, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  fails("index_select", {"ids must be in [0, ", "got 3", "3"},
        [&] { index_select(x, 1, tensor({3})); });
  fails("index_select", {"axis must be in [", "got 2"}, [&] { index_select(x, 2, tensor({0})); });
  fails("index_select", "(1, 1)", [&] { index_select(x, 0, tensor({{0}})); });
  fails("index_select", "bool", [&] { index_select(x, 0, tensor({true})); });
  fails("index_select", "undefined", [&] { index_select(x, 0, Tensor()); });
  fails("index_select", "undefined", [] { index_select({}, 0, tensor({0})); });
}

TEST(Gather, TakesEveryAxisAndLayout) {
  for (const Layout& x : random_layouts({4, 5, 6}, kFloat32, 7)) {
    for (index_t axis = 0; axis < 3; ++axis) {
      Shape shape = {3, 4, 5};
      shape[axis] = 8;
      for (const Layout& index : random_ids(shape, 4, 8)) {
        const Array from = array(x.tensor);
        const Array which = array(index.tensor);
        const Array want = build(shape, [&](Dims i) {
          i[axis] = id_at(which, i);
          return from.at(i);
        });
        EXPECT_TRUE(exactly(gather(x.tensor, axis, index.tensor), want))
            << x.name << ", index " << index.name << ", axis " << axis;
        EXPECT_TRUE(exactly(gather(x.tensor, axis - 3, index.tensor), want));
      }
    }
  }
  EXPECT_TRUE(same_bits(gather(zeros({2, 3}), 1, zeros({2, 0}, kInt64)), zeros({2, 0})));
}

TEST(Gather, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  fails("gather", {"index must be in [0, ", "got 3", "3"}, [&] { gather(x, 1, tensor({{3}})); });
  fails("gather", {"index must be in [0, ", "got -1"}, [&] { gather(x, 1, tensor({{-1}})); });
  fails("gather", {"(3, 1)", "(2, 3)", "axis 0"}, [&] { gather(x, 1, zeros({3, 1}, kInt64)); });
  fails("gather", {"(1,)", "(2, 3)"}, [&] { gather(x, 1, tensor({0})); });
  fails("gather", "float32", [&] { gather(x, 1, tensor({{0.0}})); });
  fails("gather", {"axis must be in [", "got -3"}, [&] { gather(x, -3, tensor({{0}})); });
}

TEST(Nonzero, ListsIndicesInRowMajorOrder) {
  EXPECT_TRUE(same_bits(nonzero(tensor({{0, 7}, {-1, 0}, {2, 3}})),
                        tensor({{0, 1}, {1, 0}, {2, 0}, {2, 1}})));
  EXPECT_TRUE(same_bits(nonzero(tensor({0.0, -0.0, std::nan(""), 1e-40})), tensor({{2}, {3}})));
  EXPECT_EQ(nonzero(tensor(5)).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(tensor(0)).shape(), (Shape{0, 0}));
  EXPECT_EQ(nonzero(zeros({2, 0, 3})).shape(), (Shape{0, 3}));
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Layout& x : random_layouts({3, 4, 5}, dtype, 11, -1, 1)) {
      std::vector<index_t> want;
      const Array from = array(x.tensor);
      for_each_index(from.shape, [&](const Dims& i) {
        if (from.at(i) != 0) want.insert(want.end(), i.begin(), i.end());
      });
      EXPECT_TRUE(same_bits(nonzero(x.tensor), from_vector(want, {std::ssize(want) / 3, 3})))
          << x.name;
    }
  }
  fails("nonzero", "undefined", [] { nonzero(Tensor()); });
}

TEST(MaskedSelect, TakesEveryLayoutAndDtype) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Layout& x : random_layouts({4, 5}, dtype, 12, -9, 9)) {
      for (const Shape& shape : {Shape{4, 5}, Shape{5}, Shape{4, 1}, Shape{2, 1, 1}, Shape{}}) {
        for (const Layout& mask : random_layouts(shape, kBool, 13)) {
          const Array from = array(x.tensor);
          const Array chosen = array(mask.tensor);
          Array want = {{0}, {}};
          for_each_index(naive_broadcast(from.shape, chosen.shape), [&](const Dims& i) {
            if (broadcast_at(chosen, i) != 0) want.values.push_back(broadcast_at(from, i));
          });
          want.shape[0] = std::ssize(want.values);
          const Tensor got = masked_select(x.tensor, mask.tensor);
          EXPECT_TRUE(exactly(got, want)) << x.name << ", mask " << mask.name << shape;
          EXPECT_EQ(got.dtype(), dtype);
        }
      }
    }
  }
  EXPECT_TRUE(same_bits(masked_select(tensor({1, 2}), tensor({false, false})), zeros({0}, kInt64)));
  EXPECT_TRUE(same_bits(masked_select(zeros({0, 2}), tensor({true, false})), zeros({0})));
}

TEST(MaskedSelect, NamesWhatIsWrong) {
  const Tensor mask = tensor({true, false});
  fails("masked_select", {"bool", "int64"}, [] { masked_select(tensor({1}), tensor({1})); });
  fails("masked_select", {"(3,)", "(2,)"}, [&] { masked_select(zeros({3}), mask); });
  fails("masked_select", "undefined", [&] { masked_select(Tensor(), mask); });
  fails("masked_select", "undefined", [] { masked_select(zeros({3}), Tensor()); });
}

TEST(OneHot, MarksTheClass) {
  EXPECT_TRUE(same_bits(one_hot(tensor({2, 0}), 3), tensor({{0, 0, 1}, {1, 0, 0}})));
  EXPECT_TRUE(same_bits(one_hot(tensor(1), 2, kFloat64), tensor({0, 1}, kFloat64)));
  EXPECT_TRUE(same_bits(one_hot(zeros({0}, kInt64), 0), zeros({0, 0}, kInt64)));
  for (const Layout& ids : random_ids({3, 4}, 5, 9)) {
    const Array which = array(ids.tensor);
    const Array want = build({3, 4, 5}, [&](const Dims& i) {
      return id_at(which, {i[0], i[1]}) == i[2] ? 1 : 0;
    });
    for (DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
      EXPECT_TRUE(exactly(one_hot(ids.tensor, 5, dtype), want)) << ids.name;
    }
  }
  fails("one_hot", {"ids must be in [0, ", "got 3", "3 classes"}, [] { one_hot(tensor({3}), 3); });
  fails("one_hot", "-1", [] { one_hot(tensor({0}), -1); });
  fails("one_hot", "int64", [] { one_hot(tensor({0.0}), 1); });
}

TEST(Triangles, KeepOneSideOfADiagonal) {
  EXPECT_TRUE(same_bits(tril(ones({3, 3}, kBool)),
                        tensor({{true, false, false}, {true, true, false}, {true, true, true}})));
  std::size_t number = 0;
  for (const Shape& shape :
       {Shape{4, 4}, Shape{2, 3, 4, 5}, Shape{2, 3, 5}, Shape{5, 2}, Shape{0, 3}, Shape{3, 0}}) {
    for (index_t diagonal :
         {index_t{-9}, index_t{-1}, index_t{0}, index_t{2}, index_t{9}, INT64_MAX, INT64_MIN}) {
      const DType dtype = std::array{kBool, kInt64, kFloat32, kFloat64}[number++ % 4];
      for (const Layout& x : random_layouts(shape, dtype, 10)) {
        SCOPED_TRACE(str_cat(x.name, ", ", dtype, shape, ", diagonal ", diagonal));
        const Array from = array(x.tensor);
        const auto keep = [&](const auto& kept) {
          return build(shape, [&](const Dims& i) {
            return kept(i.back() - i[i.size() - 2]) ? from.at(i) : 0;
          });
        };
        const Tensor low = tril(x.tensor, diagonal), high = triu(x.tensor, diagonal);
        EXPECT_TRUE(exactly(low, keep([&](index_t d) { return d <= diagonal; })));
        EXPECT_TRUE(exactly(high, keep([&](index_t d) { return d >= diagonal; })));
        EXPECT_EQ(low.dtype(), dtype);
        EXPECT_EQ(high.dtype(), dtype);
      }
    }
  }
  fails("tril", "(3,)", [] { tril(zeros({3})); });
  fails("triu", "()", [] { triu(Tensor()); });
}

/// The elements of `source` at the positions in `index`, added to x in row-major order.
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
        for (const Layout& index : random_ids(shape, 4, 2)) {
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
          const Layout ids = random_ids({9}, 4, 6)[2];
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

/// x, and each element of `source` added to row ids[...] of its column, one after the other.
/// float32 sums depend on their order, so no other order has these bits.
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
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& to, index_t axis,
                         const Tensor& ids, const Tensor& source) {
    return throws("scatter_add", parts, [&] { scatter_add(to, axis, ids, source); });
  };
  EXPECT_TRUE(error({"index must be in [0, ", "got 3", "3"}, x, 1, full({2, 3}, 3, kInt64), x));
  EXPECT_TRUE(error({"index must be in [0, ", "got -1"}, x, 1, full({2, 3}, -1, kInt64), x));
  EXPECT_TRUE(error({"axis must be in [", "got 2"}, x, 2, index, x));
  EXPECT_TRUE(error({"float64", "float32"}, x, 1, index, zeros({2, 3}, kFloat64)));
  EXPECT_TRUE(error({"(3,)", "(2, 3)"}, x, 1, index, zeros({3})));
  EXPECT_TRUE(error({"(3, 3)", "(2, 3)", "axis 0"}, x, 1, zeros({3, 3}, kInt64), zeros({3, 3})));
  EXPECT_TRUE(error({"(2, 3)", "source", "(2, 2)", "axis 1"}, x, 1, index, zeros({2, 2})));
  EXPECT_TRUE(error({"int64", "float32"}, x, 1, zeros({2, 3}), x));
  EXPECT_TRUE(error({"(2,)"}, x, 1, zeros({2}, kInt64), x));
  EXPECT_TRUE(error({"undefined"}, Tensor(), 1, index, x));
  EXPECT_TRUE(error({"undefined"}, x, 1, Tensor(), x));
  EXPECT_TRUE(error({"undefined"}, x, 1, index, Tensor()));
}

TEST(IndexAdd, Errors) {
  const Tensor x = zeros({2, 3});
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& to, index_t axis,
                         const Tensor& ids, const Tensor& source) {
    return throws("index_add", parts, [&] { index_add(to, axis, ids, source); });
  };
  EXPECT_TRUE(error({"ids must be in [0, ", "got 2", "2"}, x, 0, tensor({2}), zeros({1, 3})));
  EXPECT_TRUE(error({"(2, 3)", "(1, 3)", "1 ids"}, x, 0, tensor({1}), zeros({2, 3})));
  EXPECT_TRUE(error({"(1, 1)"}, x, 0, tensor({{1}}), zeros({1, 3})));
  EXPECT_TRUE(error({"float64"}, x, 0, tensor({1}), zeros({1, 3}, kFloat64)));
  EXPECT_TRUE(error({"bool"}, x, 0, tensor({true}), zeros({1, 3})));
  EXPECT_TRUE(error({"axis must be in [", "got -3"}, x, -3, tensor({1}), zeros({1, 3})));
  EXPECT_TRUE(error({"undefined"}, x, 0, Tensor(), zeros({1, 3})));
  EXPECT_TRUE(error({"undefined"}, x, 0, tensor({1}), Tensor()));
  EXPECT_TRUE(throws("index_add", {"int64", "0.5"},
                     [] { index_add(tensor({1}), 0, tensor({0}), tensor({1}), 0.5); }));
}

}  // namespace
}  // namespace tessera::test
