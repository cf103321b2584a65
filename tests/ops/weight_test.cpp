#include "tensor/ops/weight.h"

#include <atomic>
#include <bit>
#include <thread>

#include "nn/linear.h"
#include "nn/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/detail/bfloat16_panels.h"
#include "tensor/ops/linear.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/unary.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

using WeightTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, WeightTest, each_isa(), isa_name);

/// What the layer gives, against the same product packed for this call alone.
::testing::AssertionResult is_current(const nn::Linear& layer, const Tensor& x) {
  return same_bits(layer(x), linear(x, *layer.weight, layer.bias));
}

TEST_P(WeightTest, GivesTheBitsOfTheUnpackedProduct) {
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

TEST_P(WeightTest, OfNoInputsGivesTheBias) {
  const Tensor bias = random_tensor({5}, kFloat32, 3);
  const Tensor y = linear(zeros({3, 0}), Weight(zeros({5, 0})), bias);
  EXPECT_TRUE(same_bits(y, bias.expand({3, 5})));
}

TEST_P(WeightTest, FinishesAfterTheLastBlockOfK) {
  nn::Linear layer(2100, 40);
  const Tensor x = random_tensor({50, 2100}, kFloat32, 5);
  const Tensor residual = random_tensor({50, 40}, kFloat32, 6);
  const Tensor product = matmul(x, layer.weight->t()) + layer.bias;
  EXPECT_TRUE(same_bits(layer(x, nn::Activation::kGelu, residual), gelu(product) + residual));
}

TEST(Weight, AChangedWeightIsNeverMetWithAStalePack) {
  const Tensor x = random_tensor({5, 6}, kFloat32, 1);
  const std::vector<std::pair<std::string, std::function<void(nn::Linear&)>>> changes = {
      {"fill", [](nn::Linear& layer) { layer.weight->fill(2); }},
      {"fill of a view", [](nn::Linear& layer) { layer.weight->select(0, 1).fill(3); }},
      {"mutable_data", [](nn::Linear& layer) { layer.weight->mutable_data<float>()[7] = 9; }},
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
       [](nn::Linear& layer) { layer.weight = layer.weight->slice(0, {}, {}, -1); }},
      {"another tensor by its elements",
       [](nn::Linear& layer) {
         *layer.weight = random_tensor({4, 6}, kFloat32, 10);
       }},
      {"another weight",
       [](nn::Linear& layer) {
         layer.weight = Weight(random_tensor({4, 6}, kFloat32, 11));
       }},
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

TEST(Weight, AnotherInstructionSetPacksAnew) {
  const std::string before = current_isa();
  const nn::Linear layer(37, 50);
  const Tensor x = random_tensor({9, 37}, kFloat32, 2);
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    EXPECT_TRUE(is_current(layer, x)) << isa;
  }
  set_isa(before);
}

TEST(Weight, PacksOnceAndWhenItIsFirstMultiplied) {
  constexpr index_t kBytes = index_t{256} * 512 * 4;
  const nn::Linear layer(256, 512);
  const Tensor x = random_tensor({3, 256}, kFloat32, 3);
  const auto panels_of = [&](const auto& multiply) {
    const index_t before = memory_stats().in_use;
    multiply();
    return memory_stats().in_use - before;
  };
  EXPECT_EQ(panels_of([&] { linear(x, *layer.weight); }), 0) << "a tensor is read in place";
  EXPECT_GE(panels_of([&] { layer(x); }), kBytes);
  EXPECT_EQ(panels_of([&] { layer(x); }), 0);
  EXPECT_EQ(panels_of([&] {
              const nn::Linear copy = layer;
              EXPECT_GE(panels_of([&] { copy(x); }), kBytes) << "a copy starts without";
            }),
            0);
  const Weight gated = Weight::gated(*layer.weight);
  EXPECT_EQ(panels_of([&] { linear(x, gated); }), 0) << "panels for the other product";
  EXPECT_EQ(panels_of([&] { linear(x, layer.weight.rows(128, 256)); }), 0) << "parts of panels";
  EXPECT_GE(panels_of([&] { gated_linear(x, gated, {}, Activation::kSilu); }), kBytes);
}

TEST_P(WeightTest, RowsGiveTheBitsOfTheirElements) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = random_tensor({9, 50}, dtype, 3);
    const Tensor elements = random_tensor({192, 50}, dtype, 2);
    for (const Weight& weight : {Weight(elements), Weight::gated(elements)}) {
      for (const auto& [begin, end] : std::vector<std::pair<index_t, index_t>>{
               {0, 192}, {64, 128}, {128, 192}, {64, 101}, {5, 40}, {191, 192}, {7, 7}}) {
        EXPECT_TRUE(
            same_bits(linear(x, weight.rows(begin, end)), linear(x, elements.slice(0, begin, end))))
            << begin << " to " << end << ", " << dtype;
      }
    }
  }
}

TEST(Weight, RowsPassTheirGradient) {
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  const Tensor dy = random_tensor({9, 64}, kFloat32, 4);
  const auto gradient = [&](const auto& multiply) {
    const Weight weight = random_tensor({192, 50}, kFloat32, 2).set_requires_grad();
    Tape tape;
    tape.backward(multiply(weight), dy);
    return weight->grad();
  };
  EXPECT_TRUE(same_bits(
      gradient([&](const Weight& weight) { return linear(x, weight.rows(64, 128)); }),
      gradient([&](const Weight& weight) { return linear(x, weight->slice(0, 64, 128)); })));
}

TEST(Weight, ATensorPutInItsPlaceIsForTheSameProducts) {
  const Tensor x = random_tensor({3, 8}, kFloat32, 1);
  Weight table = Weight::table(random_tensor({4, 8}, kFloat32, 2));
  table = table.in_format(WeightFormat::kBFloat16);
  EXPECT_FALSE(table.is_frozen());
  EXPECT_TRUE(table.is_constant());
  table = random_tensor({4, 8}, kFloat32, 3);
  EXPECT_TRUE(table.is_table());
  EXPECT_FALSE(table.is_constant());
  EXPECT_TRUE(same_bits(linear(x, table), linear(x, *table)));

  Weight frozen = Weight(random_tensor({4, 8}, kFloat32, 4)).frozen(WeightFormat::kExact);
  EXPECT_EQ(frozen.shape(), Shape({4, 8}));
  EXPECT_EQ(frozen.size(-1), 8);
  EXPECT_EQ(frozen.count(), 32);
  EXPECT_EQ(frozen.dtype(), kFloat32);
  EXPECT_TRUE(frozen.defined());
  EXPECT_TRUE(throws("weight", {"frozen weight of shape (4, 8)", "call thaw()"}, [&] { *frozen; }));
  frozen = random_tensor({4, 8}, kFloat32, 5);
  EXPECT_FALSE(frozen.is_frozen());
  EXPECT_TRUE(same_bits(linear(x, frozen), linear(x, *frozen)));
  EXPECT_FALSE(Weight().defined());
  EXPECT_TRUE(throws("freeze", {"float32 matrix", "float64 (4, 8)"}, [] {
    Weight(zeros({4, 8}, kFloat64)).frozen(WeightFormat::kExact);
  }));
}

TEST(Weight, SeveralThreadsMayAskAtOnce) {
  const nn::Linear layer(100, 70);
  const Tensor x = random_tensor({11, 100}, kFloat32, 4);
  const Tensor want = linear(x, *layer.weight, layer.bias);
  std::vector<Tensor> got(8);
  std::vector<std::thread> threads;
  for (Tensor& out : got) threads.emplace_back([&] { out = layer(x); });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& out : got) EXPECT_TRUE(same_bits(out, want));
}

TEST(Weight, SeveralThreadsThatAskAtOnceShareOnePacking) {
  for (int round = 0; round < 10; ++round) {
    const Weight weight = random_tensor({700, 500}, kFloat32, 4);
    std::vector<std::shared_ptr<const detail::WeightPanels>> got(8);
    std::atomic<int> waiting = 8;
    std::vector<std::thread> threads;
    for (auto& panels : got) {
      threads.emplace_back([&] {
        for (--waiting; waiting > 0;) std::this_thread::yield();
        panels = WeightView(weight).factor(detail::PanelOrder::kPlain).panels;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& panels : got) EXPECT_EQ(panels, got.front());
  }
}

TEST_P(WeightTest, AnEpilogueGivesTheBitsOfTheSeparateOps) {
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

TEST(Weight, AResidualMustHaveTheOutputsShape) {
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, {.residual = zeros({2, 3})}),
               std::invalid_argument);
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, {.residual = zeros({2, 4}, kFloat64)}),
               std::invalid_argument);
}

TEST(Weight, RoundsToTheNearestBfloat16OrTheEvenOne) {
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
  Weight weight;
  Tensor values;

  Frozen(const Weight& original, WeightFormat format)
      : weight(original.frozen(format)), values(original->clone()) {
    for (float* x = values.mutable_data<float>();
         format == WeightFormat::kBFloat16 && x < values.mutable_data<float>() + values.count();
         ++x) {
      *x = detail::from_bfloat16(detail::to_bfloat16(*x));
    }
  }
};

constexpr WeightFormat kFormats[] = {WeightFormat::kExact, WeightFormat::kBFloat16};

TEST_P(WeightTest, FrozenPanelsGiveTheBitsOfTheirValues) {
  for (WeightFormat format : kFormats) {
    for (const auto& [in, out] : std::vector<std::pair<index_t, index_t>>{
             {1, 1}, {7, 33}, {36, 108}, {400, 18}, {385, 66}, {2100, 140}}) {
      const Tensor weight = random_tensor({out, in}, kFloat32, 2);
      const Frozen frozen(weight, format);
      const Frozen gated(Weight::gated(weight.slice(0, 0, out / 2 * 2).clone()), format);
      const Tensor bias = random_tensor({out}, kFloat32, 4);
      for (index_t rows : {1, 2, 3, 5, 8, 13, 16, 17, 40, 200}) {
        SCOPED_TRACE(tessera::str_cat(rows, " rows, ", in, " -> ", out, ", format ",
                                      static_cast<int>(format)));
        const Tensor x = random_tensor({rows, in}, kFloat32, 3);
        const Tensor residual = random_tensor({rows, out}, kFloat32, 5);
        const LinearEpilogue epilogue = {.activation = Activation::kGelu, .residual = residual};
        EXPECT_TRUE(same_bits(linear(x, frozen.weight), linear(x, frozen.values)));
        EXPECT_TRUE(same_bits(linear(x, frozen.weight, bias, epilogue),
                              linear(x, frozen.values, bias, epilogue)));
        if (out > 1) {
          EXPECT_TRUE(same_bits(gated_linear(x, gated.weight, {}, Activation::kSilu),
                                gated_linear(x, gated.values, {}, Activation::kSilu)));
        }
      }
    }
  }
}

TEST_P(WeightTest, FrozenPanelsTakeAnyLayoutAndNumberOfThreads) {
  for (WeightFormat format : kFormats) {
    const Frozen frozen(random_tensor({140, 300}, kFloat32, 2), format);
    for (index_t rows : {7, 60}) {
      const Tensor x = random_tensor({rows, 300}, kFloat32, 3);
      const Tensor want = linear(x, frozen.values);
      for (const Layout& layout : layouts_of(x)) {
        for (int threads : {1, 3, 8}) {
          set_thread_count(threads);
          EXPECT_TRUE(same_bits(linear(layout.tensor, frozen.weight), want))
              << layout.name << ", " << threads << " threads";
        }
      }
    }
  }
  set_thread_count(0);
}

TEST_P(WeightTest, FrozenPanelsServeRowsOfTheWeightAndTheOtherOrder) {
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  for (WeightFormat format : kFormats) {
    const Tensor elements = random_tensor({192, 50}, kFloat32, 2);
    for (const Weight& weight :
         {Weight(elements), Weight::gated(elements), Weight::table(elements)}) {
      const Frozen frozen(weight, format);
      for (const auto& [begin, end] : std::vector<std::pair<index_t, index_t>>{
               {0, 192}, {64, 128}, {128, 192}, {64, 101}, {5, 40}, {191, 192}, {7, 7}}) {
        EXPECT_TRUE(same_bits(linear(x, frozen.weight.rows(begin, end)),
                              linear(x, frozen.values.slice(0, begin, end))))
            << begin << " to " << end;
      }
      EXPECT_TRUE(same_bits(gated_linear(x, frozen.weight, {}, Activation::kGelu),
                            gated_linear(x, frozen.values, {}, Activation::kGelu)));
    }
  }
}

TEST(Weight, AFrozenOneServesSeveralThreads) {
  const Frozen frozen(random_tensor({192, 50}, kFloat32, 2), WeightFormat::kBFloat16);
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  const Tensor want = gated_linear(x, frozen.values, {}, Activation::kGelu);
  std::vector<Tensor> got(8);
  std::vector<std::thread> threads;
  for (Tensor& out : got) {  // all meet panels for the other product
    threads.emplace_back([&] { out = gated_linear(x, frozen.weight, {}, Activation::kGelu); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& out : got) EXPECT_TRUE(same_bits(out, want));
}

}  // namespace
}  // namespace tessera
