// Every case of golden/ops.npz: what PyTorch's functions compute, in float32 and float64.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "nn/embedding.h"
#include "tensor/error.h"
#include "tensor/io/npz.h"
#include "tensor/ops/ops.h"
#include "tests/support/oracle.h"

namespace tessera::test {
namespace {

using Arrays = std::map<std::string, Tensor>;

/// The operands of one case, by name.
struct ParityOperands {
  Arrays tensors;
  const Tensor& operator[](const std::string& name) const { return tensors.at(name); }
};

using ParityFunction = std::function<Tensor(const ParityOperands&)>;
using ParityFunctions = std::map<std::string, ParityFunction>;

template <class F>
ParityFunction of_input(const F& f) {
  return [=](const ParityOperands& o) { return f(o["input"]); };
}

ParityFunction einsum_of_two(const std::string& spec) {
  return [=](const ParityOperands& o) { return einsum(spec, {o["left"], o["right"]}); };
}

ParityFunction einsum_of_one(const std::string& spec) {
  return [=](const ParityOperands& o) { return einsum(spec, {o["left"]}); };
}

void add_softmax(ParityFunctions& f) {
  for (index_t axis = 0; axis < 3; ++axis) {
    const std::string end = "_axis" + std::to_string(axis);
    f["softmax" + end] = of_input([=](const Tensor& x) { return softmax(x, {axis}); });
    f["log_softmax" + end] = of_input([=](const Tensor& x) { return log_softmax(x, {axis}); });
    f["logsumexp" + end] = of_input([=](const Tensor& x) { return logsumexp(x, {axis}); });
  }
  f["softmax_all"] = of_input([](const Tensor& x) { return softmax(x, {}); });
  f["log_softmax_all"] = of_input([](const Tensor& x) { return log_softmax(x, {}); });
  f["logsumexp_axes02"] = of_input([](const Tensor& x) { return logsumexp(x, {0, 2}); });
  f["softmax_extreme"] = of_input([](const Tensor& x) { return softmax(x, {1}); });
  f["log_softmax_extreme"] = of_input([](const Tensor& x) { return log_softmax(x, {1}); });
  f["logsumexp_extreme"] = of_input([](const Tensor& x) { return logsumexp(x, {1}); });
}

void add_pointwise(ParityFunctions& f) {
  f["gelu"] = of_input([](const Tensor& x) { return gelu(x); });
  f["gelu_tanh"] = of_input([](const Tensor& x) { return gelu_tanh(x); });
  f["erf"] = of_input([](const Tensor& x) { return erf(x); });
  f["tanh"] = of_input([](const Tensor& x) { return tanh(x); });
}

void add_reductions(ParityFunctions& f) {
  for (index_t axis = 0; axis < 3; ++axis) {
    f["cumsum_axis" + std::to_string(axis)] =
        of_input([=](const Tensor& x) { return cumsum(x, axis); });
  }
  f["var_unbiased"] = of_input([](const Tensor& x) { return var(x, {2}); });
  f["var_biased"] = of_input([](const Tensor& x) { return var(x, {2}, false, 0); });
  f["var_axes02_unbiased"] = of_input([](const Tensor& x) { return var(x, {0, 2}); });
  f["var_all_biased"] = of_input([](const Tensor& x) { return var(x, {}, false, 0); });
  f["norm_axis1"] = of_input([](const Tensor& x) { return norm(x, {1}); });
  f["norm_axes02"] = of_input([](const Tensor& x) { return norm(x, {0, 2}); });
  f["norm_all"] = of_input([](const Tensor& x) { return norm(x); });
  for (index_t axis = 0; axis < 2; ++axis) {
    f["cosine_similarity_axis" + std::to_string(axis)] = [=](const ParityOperands& o) {
      return cosine_similarity(o["left"], o["right"], axis);
    };
  }
}

void add_norms(ParityFunctions& f) {
  const auto with_eps = [](double eps) {
    return [=](const ParityOperands& o) {
      return layer_norm(o["input"], o["weight"], o["bias"], eps);
    };
  };
  f["layer_norm"] = with_eps(1e-5);
  f["layer_norm_eps"] = with_eps(1e-3);
  f["layer_norm_two_axes"] = with_eps(1e-5);
  f["layer_norm_plain"] = of_input([](const Tensor& x) { return layer_norm(x); });
}

void add_einsum(ParityFunctions& f) {
  f["einsum_matmul"] = einsum_of_two("ij,jk->ik");
  f["einsum_scores"] = einsum_of_two("bhqd,bhkd->bhqk");
  f["einsum_batched"] = einsum_of_two("bij,bjk->bik");
  f["einsum_outer"] = einsum_of_two("i,j->ij");
  f["einsum_transpose"] = einsum_of_one("ij->ji");
  f["einsum_diagonal"] = einsum_of_one("ii->i");
  f["einsum_sum"] = einsum_of_one("ij->");
}

/// The functions by the names of their cases; `table` is what the embedding cases look up.
ParityFunctions all_functions(const Tensor& table) {
  ParityFunctions f;
  add_softmax(f);
  add_pointwise(f);
  add_reductions(f);
  add_norms(f);
  add_einsum(f);
  f["embedding"] = [](const ParityOperands& o) { return embedding(o["weight"], o["ids"]); };
  f["embedding_padding"] = [=](const ParityOperands& o) {
    nn::Embedding module({.num_embeddings = 11, .embedding_dim = 6, .padding_index = 3});
    for (index_t row = 0; row < 11; ++row) {
      if (row != 3) module.weight->select(0, row).copy_from(table.select(0, row));
    }
    return module(o["ids"]);
  };
  return f;
}

using OpsParityTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, OpsParityTest, each_isa(), isa_name);

TEST_P(OpsParityTest, EveryCase) {
  const Arrays arrays = load_npz(TESSERA_GOLDEN_DIR "/ops.npz");
  const ParityFunctions functions = all_functions(arrays.at("embedding.weight"));
  std::set<std::string> cases;
  for (const auto& [entry, value] : arrays) cases.insert(entry.substr(0, entry.find('.')));
  EXPECT_EQ(cases.size(), functions.size());
  for (const std::string& name : cases) {
    ASSERT_TRUE(functions.contains(name)) << "no function for the case " << name;
    for (DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      ParityOperands operands;
      for (const auto& [entry, value] : arrays) {
        if (!entry.starts_with(name + ".")) continue;
        const Tensor operand = is_floating(value.dtype()) ? value.to(dtype) : value;
        operands.tensors.emplace(entry.substr(name.size() + 1), operand);
      }
      const double allowed = dtype == kFloat32 ? 1e-5 : 1e-12;
      EXPECT_TRUE(
          near(functions.at(name)(operands), array(arrays.at(name + ".output")), allowed, allowed));
    }
  }
}

}  // namespace
}  // namespace tessera::test
