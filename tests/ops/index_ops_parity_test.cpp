// Every case of golden/index_ops.npz: how PyTorch chooses, orders and moves elements, and its
// gradients, in float32 and float64.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tensor/ops/ops.h"
#include "tests/support/golden_gradients.h"

namespace tessera::test {
namespace {

using Functions = std::map<std::string, GoldenFunction>;

template <class F>
GoldenFunction of_x(const F& f) {
  return [=](GoldenOperands& o) { return f(o.at("x")); };
}

void add_orders(Functions& f) {
  for (const bool descending : {false, true}) {
    const std::string word = descending ? "descending" : "ascending";
    f["sort_" + word] = of_x([=](const Tensor& x) { return sort(x, 1, descending).values; });
    f["argsort_" + word + "_axis0"] =
        of_x([=](const Tensor& x) { return argsort(x, 0, descending); });
  }
  for (index_t axis = 0; axis < 3; ++axis) {
    const std::string end = "_axis" + std::to_string(axis);
    f["topk_largest" + end] = of_x([=](const Tensor& x) { return topk(x, 2, axis).values; });
    f["topk_smallest" + end] =
        of_x([=](const Tensor& x) { return topk(x, 2, axis, false).values; });
    f["prod" + end] = of_x([=](const Tensor& x) { return prod(x, {axis}); });
  }
  f["argmin_axis1"] = of_x([](const Tensor& x) { return argmin(x, 1); });
  f["argmin_all"] = of_x([](const Tensor& x) { return argmin(x); });
  f["prod_all"] = of_x([](const Tensor& x) { return prod(x); });
}

void add_scatters(Functions& f) {
  f["scatter_add_axis0"] = [](GoldenOperands& o) {
    return scatter_add(o["x"], 0, o["index"], o["source"]);
  };
  f["index_add"] = [](GoldenOperands& o) { return index_add(o["x"], 2, o["ids"], o["source"]); };
  f["index_add_scaled"] = [](GoldenOperands& o) {
    return index_add(o["x"], 2, o["ids"], o["source"], -2.5);
  };
  f["masked_select"] = [](GoldenOperands& o) { return masked_select(o["x"], o["mask"]); };
  f["nonzero"] = [](GoldenOperands& o) { return nonzero(o["mask"]); };
  f["nonzero_scalar"] = f["nonzero"];
}

void add_moves(Functions& f) {
  f["flip_02"] = of_x([](const Tensor& x) { return flip(x, {0, 2}); });
  f["roll_all"] = of_x([](const Tensor& x) { return roll(x, 7); });
  f["roll_1_2"] = of_x([](const Tensor& x) { return roll(x, {-1, 13}, {1, 2}); });
  f["pad_last"] = of_x([](const Tensor& x) { return pad(x, {1, 2}); });
  f["pad_two"] = of_x([](const Tensor& x) { return pad(x, {0, 1, 2, -1}, 1.5); });
  f["pad_all"] = of_x([](const Tensor& x) { return pad(x, {-2, 3, 1, 0, 0, 2}, -1); });
  f["repeat"] = of_x([](const Tensor& x) { return repeat(x, {2, 1, 3, 2}); });
  f["tile"] = of_x([](const Tensor& x) { return tile(x, {2, 3}); });
  f["repeat_interleave"] = of_x([](const Tensor& x) { return repeat_interleave(x, 3, 1); });
}

Functions all_functions(DType dtype) {
  Functions f;
  add_orders(f);
  add_scatters(f);
  add_moves(f);
  f["outer"] = [](GoldenOperands& o) { return outer(o["a"], o["b"]); };
  for (const index_t count : {0, 1, 2, 5, 100}) {
    f["linspace_" + std::to_string(count)] = [=](GoldenOperands&) {
      return linspace(-0.3, 7.7, count, dtype);
    };
  }
  for (const index_t diagonal : {-2, 0, 1}) {
    const std::string end = std::to_string(diagonal);
    f["tril_" + end] = of_x([=](const Tensor& x) { return tril(x, diagonal); });
    f["triu_" + end] = of_x([=](const Tensor& x) { return triu(x, diagonal); });
  }
  return f;
}

TEST(IndexOpsParity, EveryCase) {
  const GoldenCase file("index_ops");
  const auto names = golden_case_names(file);
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Functions functions = all_functions(dtype);
    EXPECT_EQ(names.size(), functions.size());
    for (const std::string& name : names) {
      ASSERT_TRUE(functions.contains(name)) << "no function for the case " << name;
      EXPECT_TRUE(agrees(file, name, dtype, functions.at(name), dtype == kFloat32 ? 1e-5 : 1e-12));
    }
  }
}

TEST(IndexOpsParity, Indices) {
  const GoldenCase file("index_ops");
  for (const bool first : {false, true}) {
    const std::string sorted = first ? "sort_descending" : "sort_ascending";
    EXPECT_TRUE(same_bits(sort(file.array(sorted + ".x"), 1, first).indices,
                          file.array(sorted + ".indices")));
    for (index_t axis = 0; axis < 3; ++axis) {
      const std::string name =
          (first ? "topk_largest_axis" : "topk_smallest_axis") + std::to_string(axis);
      EXPECT_TRUE(same_bits(topk(file.array(name + ".x"), 2, axis, first).indices,
                            file.array(name + ".indices")));
    }
  }
}

}  // namespace
}  // namespace tessera::test
