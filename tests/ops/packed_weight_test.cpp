#include "tensor/ops/packed_weight.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "nn/linear.h"
#include "nn/module.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/gated_linear.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/panels.h"
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
      SCOPED_TRACE(str_cat("activation ", static_cast<int>(activation), ", ", dtype));
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

TEST(PackedWeight, RoundsToTheNearestBfloat16OrTheEvenOne) {
  const auto round = [](std::uint32_t bits) {
    return std::uint32_t{detail::to_bfloat16(std::bit_cast<float>(bits))};
  };
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const std::uint32_t bits = half << 16;
    if (std::isnan(std::bit_cast<float>(bits | 1U))) {
      const bool is_infinite = (half & 0x7fffU) == 0x7f80U;
      ASSERT_EQ(round(bits), is_infinite ? half : half | 0x40U) << half;
      ASSERT_EQ(round(bits | 1U), half | 0x40U) << half << ", a NaN that only the lower half tells";
      ASSERT_EQ(round(bits | 0xffffU), half | 0x40U) << half;
      continue;
    }
    ASSERT_EQ(round(bits), half) << half;
    ASSERT_EQ(round(bits | 1U), half) << half;
    ASSERT_EQ(round(bits | 0x7fffU), half) << half;
    ASSERT_EQ(round(bits | 0x8000U), half + (half & 1U)) << half;  // of the largest: infinity
    ASSERT_EQ(round(bits | 0x8001U), half + 1) << half;
    ASSERT_EQ(round(bits | 0xffffU), half + 1) << half;
  }
}

/// A weight that is frozen, and the values that its panels stand for.
struct Frozen {
  Tensor weight, values;
  PackedWeight packed;

  Frozen(const Tensor& original, WeightFormat format, PanelOrder order = PanelOrder::kPlain)
      : weight(original), values(original.clone()) {
    packed.freeze(weight, format, order);
    for (float* x = values.mutable_data<float>();
         format == WeightFormat::kBFloat16 && x < values.mutable_data<float>() + values.count();
         ++x) {
      *x = detail::from_bfloat16(detail::to_bfloat16(*x));
    }
  }
};

constexpr WeightFormat kFormats[] = {WeightFormat::kExact, WeightFormat::kBFloat16};

TEST_P(PackedWeightTest, FrozenPanelsGiveTheBitsOfTheirValues) {
  for (WeightFormat format : kFormats) {
    for (const auto& [in, out] : std::vector<std::pair<index_t, index_t>>{
             {1, 1}, {7, 33}, {36, 108}, {400, 18}, {385, 66}, {2100, 140}}) {
      const Tensor weight = random_tensor({out, in}, kFloat32, 2);
      const Frozen frozen(weight, format);
      const Frozen gated(out % 2 == 0 ? weight : weight.slice(0, 0, out - 1).clone(), format,
                         PanelOrder::kGated);
      const Tensor bias = random_tensor({out}, kFloat32, 4);
      for (index_t rows : {1, 2, 3, 5, 8, 13, 16, 17, 40, 200}) {
        SCOPED_TRACE(tessera::str_cat(rows, " rows, ", in, " -> ", out, ", format ",
                                      static_cast<int>(format)));
        const Tensor x = random_tensor({rows, in}, kFloat32, 3);
        const Tensor residual = random_tensor({rows, out}, kFloat32, 5);
        EXPECT_TRUE(same_bits(linear(x, frozen.weight, {}, {.packed = &frozen.packed}),
                              linear(x, frozen.values)));
        EXPECT_TRUE(same_bits(
            linear(
                x, frozen.weight, bias,
                {.activation = Activation::kGelu, .residual = residual, .packed = &frozen.packed}),
            linear(x, frozen.values, bias,
                   {.activation = Activation::kGelu, .residual = residual})));
        if (out > 1) {
          EXPECT_TRUE(same_bits(gated_linear(x, gated.weight, {}, Activation::kSilu, &gated.packed),
                                gated_linear(x, gated.values, {}, Activation::kSilu)));
        }
      }
    }
  }
}

TEST_P(PackedWeightTest, FrozenPanelsTakeAnyLayoutAndNumberOfThreads) {
  for (WeightFormat format : kFormats) {
    const Frozen frozen(random_tensor({140, 300}, kFloat32, 2), format);
    for (index_t rows : {7, 60}) {
      const Tensor x = random_tensor({rows, 300}, kFloat32, 3);
      const Tensor want = linear(x, frozen.values);
      for (const Layout& layout : layouts_of(x)) {
        for (int threads : {1, 3, 8}) {
          set_thread_count(threads);
          EXPECT_TRUE(
              same_bits(linear(layout.tensor, frozen.weight, {}, {.packed = &frozen.packed}), want))
              << layout.name << ", " << threads << " threads";
        }
      }
    }
  }
  set_thread_count(0);
}

TEST_P(PackedWeightTest, FrozenPanelsServeRowsOfTheWeightAndTheOtherOrder) {
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  for (WeightFormat format : kFormats) {
    for (PanelOrder order : {PanelOrder::kPlain, PanelOrder::kGated}) {
      const Frozen frozen(random_tensor({192, 50}, kFloat32, 2), format, order);
      for (const auto& [begin, end] : std::vector<std::pair<index_t, index_t>>{
               {0, 192}, {64, 128}, {128, 192}, {64, 101}, {5, 40}, {191, 192}, {7, 7}}) {
        EXPECT_TRUE(
            same_bits(linear(x, frozen.weight.slice(0, begin, end), {}, {.packed = &frozen.packed}),
                      linear(x, frozen.values.slice(0, begin, end))))
            << begin << " to " << end;
      }
      EXPECT_TRUE(same_bits(gated_linear(x, frozen.weight, {}, Activation::kGelu, &frozen.packed),
                            gated_linear(x, frozen.values, {}, Activation::kGelu)));
    }
  }
}

TEST(PackedWeight, AFrozenOneServesSeveralThreads) {
  const Frozen frozen(random_tensor({192, 50}, kFloat32, 2), WeightFormat::kBFloat16);
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  const Tensor want = gated_linear(x, frozen.values, {}, Activation::kGelu);
  std::vector<Tensor> got(8);
  std::vector<std::thread> threads;
  for (Tensor& out : got) {  // all meet panels in the other order
    threads.emplace_back(
        [&] { out = gated_linear(x, frozen.weight, {}, Activation::kGelu, &frozen.packed); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& out : got) EXPECT_TRUE(same_bits(out, want));
}

}  // namespace
}  // namespace tessera
