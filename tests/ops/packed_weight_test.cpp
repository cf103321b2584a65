#include "tensor/ops/packed_weight.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "nn/linear.h"
#include "nn/module.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/unary.h"
#include "tests/support/nn_oracle.h"

namespace tessera {
namespace {

using namespace test;

using PackedWeightTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, PackedWeightTest, each_isa(), isa_name);

/// What the layer gives, against the same product packed for this call alone.
::testing::AssertionResult is_current(const nn::Linear& layer, const Tensor& x) {
  return same_bits(layer(x), linear(x, layer.weight, layer.bias));
}

TEST_P(PackedWeightTest, GivesTheBitsOfTheUnpackedProduct) {
  for (const auto& [in, out] : std::vector<std::pair<index_t, index_t>>{
           {1, 1}, {7, 33}, {36, 108}, {400, 17}, {385, 65}, {2100, 40}}) {
    for (DType dtype : {kFloat32, kFloat64}) {
      nn::Linear layer(in, out);
      nn::convert(layer, dtype);
      for (index_t rows : {1, 2, 7, 40, 200}) {
        EXPECT_TRUE(is_current(layer, random_tensor({rows, in}, dtype, 3)))
            << rows << " rows, " << in << " -> " << out << ", " << dtype;
      }
    }
  }
}

TEST_P(PackedWeightTest, OfNoInputsGivesTheBias) {
  const PackedWeight packed;
  const Tensor bias = random_tensor({5}, kFloat32, 3);
  const Tensor y = linear(zeros({3, 0}), zeros({5, 0}), bias, {.packed = &packed});
  EXPECT_TRUE(same_bits(y, bias.expand({3, 5})));
}

TEST_P(PackedWeightTest, FinishesAfterTheLastBlockOfK) {
  nn::Linear layer(2100, 40);
  const Tensor x = random_tensor({50, 2100}, kFloat32, 5);
  const Tensor residual = random_tensor({50, 40}, kFloat32, 6);
  const Tensor product = matmul(x, layer.weight.t()) + layer.bias;
  EXPECT_TRUE(same_bits(layer(x, nn::Activation::kGelu, residual), gelu(product) + residual));
}

TEST(PackedWeight, AChangedWeightIsNeverMetWithAStalePack) {
  const Tensor x = random_tensor({5, 6}, kFloat32, 1);
  const std::vector<std::pair<std::string, std::function<void(nn::Linear&)>>> changes = {
      {"fill", [](nn::Linear& layer) { layer.weight.fill(2); }},
      {"fill of a view", [](nn::Linear& layer) { layer.weight.select(0, 1).fill(3); }},
      {"mutable_data", [](nn::Linear& layer) { layer.weight.mutable_data<float>()[7] = 9; }},
      {"load_state_dict",
       [](nn::Linear& layer) { nn::load_state_dict(layer, nn::state_dict(nn::Linear(6, 4))); }},
      {"another tensor",
       [](nn::Linear& layer) {
         layer.weight = random_tensor({4, 6}, kFloat32, 8);
       }},
      {"another tensor in recycled memory",
       [](nn::Linear& layer) {
         layer.weight = Tensor();
         layer.weight = random_tensor({4, 6}, kFloat32, 9);
       }},
      {"another view of the same memory",
       [](nn::Linear& layer) { layer.weight = layer.weight.slice(0, {}, {}, -1); }},
      {"assignment", [](nn::Linear& layer) { layer = nn::Linear(6, 4); }},
  };
  for (const auto& [name, change] : changes) {
    nn::Linear layer(6, 4);
    const Tensor before = layer(x);
    change(layer);
    EXPECT_TRUE(is_current(layer, x)) << name;
    EXPECT_FALSE(same_bits(layer(x), before)) << name;
  }
}

TEST(PackedWeight, AnotherInstructionSetPacksAnew) {
  const std::string before = current_isa();
  const nn::Linear layer(37, 50);
  const Tensor x = random_tensor({9, 37}, kFloat32, 2);
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    EXPECT_TRUE(is_current(layer, x)) << isa;
  }
  set_isa(before);
}

TEST(PackedWeight, MemoryIsReportedAndCanBeTurnedOff) {
  const index_t before = packed_weight_bytes();
  const nn::Linear layer(64, 128);
  const Tensor x = random_tensor({3, 64}, kFloat32, 3);
  EXPECT_EQ(packed_weight_bytes(), before) << "packed before it was needed";
  const Tensor want = layer(x);
  EXPECT_EQ(packed_weight_bytes(), before + 64 * 128 * 4);
  {
    const nn::Linear copy = layer;
    EXPECT_EQ(packed_weight_bytes(), before + 64 * 128 * 4) << "a copy starts empty";
    copy(x);
    EXPECT_EQ(packed_weight_bytes(), before + 2 * 64 * 128 * 4);
  }
  EXPECT_EQ(packed_weight_bytes(), before + 64 * 128 * 4);

  set_weight_packing(false);
  EXPECT_TRUE(same_bits(layer(x), want));
  EXPECT_EQ(packed_weight_bytes(), before);
  set_weight_packing(true);
  EXPECT_TRUE(same_bits(layer(x), want));
  EXPECT_EQ(packed_weight_bytes(), before + 64 * 128 * 4);
}

TEST(PackedWeight, SeveralThreadsMayAskAtOnce) {
  const nn::Linear layer(100, 70);
  const Tensor x = random_tensor({11, 100}, kFloat32, 4);
  const Tensor want = linear(x, layer.weight, layer.bias);
  std::vector<Tensor> got(8);
  std::vector<std::thread> threads;
  for (Tensor& out : got) threads.emplace_back([&] { out = layer(x); });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& out : got) EXPECT_TRUE(same_bits(out, want));
}

TEST_P(PackedWeightTest, AnEpilogueGivesTheBitsOfTheSeparateOps) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = random_tensor({2, 13, 400}, dtype, 1);
    const Tensor weight = random_tensor({37, 400}, dtype, 2);
    const Tensor bias = random_tensor({37}, dtype, 3);
    const Tensor residual = random_tensor({2, 13, 37}, dtype, 4);
    for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                  Activation::kGeluTanh, Activation::kSilu}) {
      const Tensor plain = matmul(x, weight.t());
      const Tensor activated = nn::activate(activation, plain + bias);
      SCOPED_TRACE(format("activation ", static_cast<int>(activation), ", ", dtype));
      EXPECT_TRUE(same_bits(linear(x, weight, bias, {.activation = activation}), activated));
      EXPECT_TRUE(same_bits(linear(x, weight, {}, {.activation = activation}),
                            nn::activate(activation, plain)));
      for (const Layout& layout : layouts_of(residual)) {
        EXPECT_TRUE(same_bits(
            linear(x, weight, bias, {.activation = activation, .residual = layout.tensor}),
            activated + residual))
            << layout.name;
      }
    }
  }
}

TEST(PackedWeight, AResidualMustHaveTheOutputsShape) {
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, {.residual = zeros({2, 3})}),
               std::invalid_argument);
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, {.residual = zeros({2, 4}, kFloat64)}),
               std::invalid_argument);
}

}  // namespace
}  // namespace tessera
