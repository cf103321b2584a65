// Every case of golden/ops.npz, elementwise.npz and index_ops.npz: the values of PyTorch's
// functions and, if the file has them, their gradients, including special values, in float32 and
// float64.

#include "tessera/nn/embedding.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using GoldenTensor = const Tensor&;

/// f of the operand `name`.
template <class F>
GoldenFunction of(const std::string& name, const F& f) {
  return [=](GoldenOperands& o) { return f(o.at(name)); };
}

/// f of the operands `first` and `second`.
template <class F>
GoldenFunction of(const std::string& first, const std::string& second, const F& f) {
  return [=](GoldenOperands& o) { return f(o.at(first), o.at(second)); };
}

GoldenFunctions elementwise_functions() {
  using T = GoldenTensor;
  const auto one = [](const auto& f) { return of("input", f); };
  const auto two = [](const auto& f) { return of("input", "other", f); };
  return {{"sin", one(tessera::sin)},
          {"cos", one(tessera::cos)},
          {"expm1", one(tessera::expm1)},
          {"log1p", one(tessera::log1p)},
          {"rsqrt", one(tessera::rsqrt)},
          {"floor", one(tessera::floor)},
          {"ceil", one(tessera::ceil)},
          {"round", one(tessera::round)},
          {"sign", one(tessera::sign)},
          {"silu", one(tessera::silu)},
          {"softplus", one([](T x) { return softplus(x); })},
          {"softplus_sharp", one([](T x) { return softplus(x, 2.5, 3); })},
          {"leaky_relu", one([](T x) { return leaky_relu(x); })},
          {"leaky_relu_slope", one([](T x) { return leaky_relu(x, 0.25); })},
          {"clamp", one([](T x) { return clamp(x, -1, 2); })},
          {"clamp_least", one([](T x) { return clamp(x, 0.5); })},
          {"clamp_most", one([](T x) { return clamp(x, {}, 0.5); })},
          {"clamp_crossed", one([](T x) { return clamp(x, 2, -1); })},
          {"maximum", two([](T a, T b) { return maximum(a, b); })},
          {"minimum", two([](T a, T b) { return minimum(a, b); })},
          {"pow", two([](T a, T b) { return pow(a, b); })},
          {"pow_special", two([](T a, T b) { return pow(a, b); })}};
}

GoldenFunctions larger_functions() {
  using T = GoldenTensor;
  const auto one = [](const auto& f) { return of("input", f); };
  const auto similarity = [](index_t axis) {
    return of("left", "right", [=](T a, T b) { return cosine_similarity(a, b, axis); });
  };
  const auto norm_of = [](double eps) {
    return [=](GoldenOperands& o) { return layer_norm(o["input"], o["weight"], o["bias"], eps); };
  };
  const auto einsum_of = [](const std::string& spec) {
    return [=](GoldenOperands& o) {
      std::vector<Tensor> operands = {o["left"]};
      if (o.contains("right")) operands.push_back(o["right"]);
      return einsum(spec, operands);
    };
  };
  GoldenFunctions f = {
      {"softmax_all", one([](T x) { return softmax(x, {}); })},
      {"log_softmax_all", one([](T x) { return log_softmax(x, {}); })},
      {"softmax_extreme", one([](T x) { return softmax(x, {1}); })},
      {"log_softmax_extreme", one([](T x) { return log_softmax(x, {1}); })},
      {"logsumexp_extreme", one([](T x) { return logsumexp(x, {1}); })},
      {"gelu", one([](T x) { return gelu(x); })},
      {"gelu_tanh", one([](T x) { return gelu_tanh(x); })},
      {"erf", one(tessera::erf)},
      {"tanh", one(tessera::tanh)},
      {"var_unbiased", one([](T x) { return var(x, {2}); })},
      {"var_biased", one([](T x) { return var(x, {2}, false, 0); })},
      {"var_all_biased", one([](T x) { return var(x, {}, false, 0); })},
      {"norm_axis1", one([](T x) { return norm(x, {1}); })},
      {"norm_all", one([](T x) { return norm(x); })},
      {"cosine_similarity_axis0", similarity(0)},
      {"cosine_similarity_axis1", similarity(1)},
      {"layer_norm", norm_of(1e-5)},
      {"layer_norm_eps", norm_of(1e-3)},
      {"layer_norm_two_axes", norm_of(1e-5)},
      {"layer_norm_plain", one([](T x) { return layer_norm(x); })},
      {"einsum_matmul", einsum_of("ij,jk->ik")},
      {"einsum_scores", einsum_of("bhqd,bhkd->bhqk")},
      {"einsum_batched", einsum_of("bij,bjk->bik")},
      {"einsum_outer", einsum_of("i,j->ij")},
      {"einsum_transpose", einsum_of("ij->ji")},
      {"einsum_diagonal", einsum_of("ii->i")},
      {"einsum_sum", einsum_of("ij->")},
      {"embedding", of("weight", "ids", [](T weight, T ids) { return embedding(ids, weight); })}};
  f["logsumexp_axes02"] = one([](T x) { return logsumexp(x, {0, 2}); });
  f["var_axes02_unbiased"] = one([](T x) { return var(x, {0, 2}); });
  f["norm_axes02"] = one([](T x) { return norm(x, {0, 2}); });
  for (index_t axis = 0; axis < 3; ++axis) {
    const std::string end = "_axis" + std::to_string(axis);
    f["softmax" + end] = one([=](T x) { return softmax(x, {axis}); });
    f["log_softmax" + end] = one([=](T x) { return log_softmax(x, {axis}); });
    f["logsumexp" + end] = one([=](T x) { return logsumexp(x, {axis}); });
    f["cumsum" + end] = one([=](T x) { return cumsum(x, axis); });
  }
  return f;
}

/// The module with the weights of another case, except for its row of padding.
GoldenFunction embedding_with_padding(const Tensor& table) {
  return of("ids", [=](GoldenTensor ids) {
    nn::Embedding module({.num_embeddings = 11, .embedding_dim = 6, .padding_idx = 3});
    nn::set_requires_grad(module, false);
    for (index_t row = 0; row < 11; ++row) {
      if (row != 3) module.weight->select(0, row).copy_from(table.select(0, row));
    }
    return module(ids);
  });
}

GoldenFunctions index_functions(DType dtype) {
  using T = GoldenTensor;
  const auto one = [](const auto& f) { return of("x", f); };
  const auto index_add_of = [](double alpha) {
    return [=](GoldenOperands& o) { return index_add(o["x"], 2, o["ids"], o["source"], alpha); };
  };
  const auto scatter_of_three = [](GoldenOperands& o) {
    return scatter_add(o["x"], 0, o["index"], o["source"]);
  };
  GoldenFunctions f = {
      {"argmin_axis1", one([](T x) { return argmin(x, 1); })},
      {"argmin_all", one([](T x) { return argmin(x); })},
      {"prod_all", one([](T x) { return prod(x); })},
      {"scatter_add_axis0", scatter_of_three},
      {"index_add", index_add_of(1)},
      {"index_add_scaled", index_add_of(-2.5)},
      {"masked_select", of("x", "mask", [](T x, T mask) { return masked_select(x, mask); })},
      {"nonzero", of("mask", [](T mask) { return nonzero(mask); })},
      {"nonzero_scalar", of("mask", [](T mask) { return nonzero(mask); })},
      {"roll_all", one([](T x) { return roll(x, 7); })},
      {"repeat_interleave", one([](T x) { return repeat_interleave(x, 3, 1); })},
      {"outer", of("a", "b", [](T a, T b) { return outer(a, b); })}};
  f["flip_02"] = one([](T x) { return flip(x, {0, 2}); });
  f["roll_1_2"] = one([](T x) { return roll(x, {-1, 13}, {1, 2}); });
  f["pad_last"] = one([](T x) { return pad(x, {1, 2}); });
  f["pad_two"] = one([](T x) { return pad(x, {0, 1, 2, -1}, 1.5); });
  f["pad_all"] = one([](T x) { return pad(x, {-2, 3, 1, 0, 0, 2}, -1); });
  f["repeat"] = one([](T x) { return tile(x, {2, 1, 3, 2}); });
  f["tile"] = one([](T x) { return tile(x, {2, 3}); });
  for (const bool descending : {false, true}) {
    const std::string word = descending ? "descending" : "ascending";
    f["sort_" + word] = one([=](T x) { return sort(x, 1, descending).values; });
    f["argsort_" + word + "_axis0"] = one([=](T x) { return argsort(x, 0, descending); });
  }
  for (index_t axis = 0; axis < 3; ++axis) {
    const std::string end = "_axis" + std::to_string(axis);
    f["topk_largest" + end] = one([=](T x) { return topk(x, 2, axis).values; });
    f["topk_smallest" + end] = one([=](T x) { return topk(x, 2, axis, false).values; });
    f["prod" + end] = one([=](T x) { return prod(x, {axis}); });
  }
  for (const index_t count : {0, 1, 2, 5, 100}) {
    f["linspace_" + std::to_string(count)] = [=](GoldenOperands&) {
      return linspace(-0.3, 7.7, count, dtype);
    };
  }
  for (const index_t diagonal : {-2, 0, 1}) {
    f["tril_" + std::to_string(diagonal)] = one([=](T x) { return tril(x, diagonal); });
    f["triu_" + std::to_string(diagonal)] = one([=](T x) { return triu(x, diagonal); });
  }
  return f;
}

using OpsParityTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, OpsParityTest, each_isa(), isa_name);

TEST_P(OpsParityTest, ElementwiseFunctions) {
  const GoldenCase file("elementwise");
  for (const DType dtype : {kFloat32, kFloat64}) {
    expect_every_case(file, dtype, elementwise_functions());
  }
}

TEST_P(OpsParityTest, LargerFunctions) {
  const GoldenCase file("ops");
  GoldenFunctions functions = larger_functions();
  functions["embedding_padding"] = embedding_with_padding(file.array("embedding.weight"));
  for (const DType dtype : {kFloat32, kFloat64}) expect_every_case(file, dtype, functions);
}

TEST(OpsParity, WhatChoosesOrdersAndMovesElements) {
  const GoldenCase file("index_ops");
  for (const DType dtype : {kFloat32, kFloat64}) {
    expect_every_case(file, dtype, index_functions(dtype));
  }
}

TEST(OpsParity, Indices) {
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
