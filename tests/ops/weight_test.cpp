#include "tessera/tensor/ops/weight.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "tessera/nn/linear.h"
#include "tessera/nn/module.h"
#include "tessera/nn/rotary.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/support/fails.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera {
namespace {

using namespace test;

using WeightTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, WeightTest, each_isa(), isa_name);

/// The result of the layer, compared with the same product packed only for this call.
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

/// Switches the checks on or off; puts back what was before.
struct UseChecks {
  bool before = checks_weights();

  explicit UseChecks(bool on) { set_checks_weights(on); }
  ~UseChecks() { set_checks_weights(before); }
};

TEST(Weight, AKeptPointerThatWritesAfterAProductIsFound) {
  const Tensor x = random_tensor({5, 6}, kFloat32, 1);
  for (DType dtype : {kFloat32, kFloat64}) {
    nn::Linear layer(6, 4);
    nn::convert(layer, dtype);
    const auto write = [&, kept = layer.weight->t()] {
      visit_floating(dtype, [&](auto kind) {
        const_cast<decltype(kind)*>(kept.data<decltype(kind)>())[22] += 100;
      });
    };
    const UseChecks off(false);
    layer(x.to(dtype));
    write();
    EXPECT_FALSE(is_current(layer, x.to(dtype))) << "without checks the panels stay";
    const UseChecks on(true);
    EXPECT_NO_THROW(layer(x.to(dtype))) << "packed before the checks began";
    layer.weight->storage().bump_version();
    EXPECT_TRUE(is_current(layer, x.to(dtype)));
    write();
    fails("weight",
          {"elements (4, 6) must be unchanged since they were packed",
           "call mutable_data() again before writing"},
          [&] { layer(x.to(dtype)); });
    *layer.weight = layer.weight->clone();
    EXPECT_TRUE(is_current(layer, x.to(dtype)));
  }
}

TEST(Weight, AKeptPointerThatWritesAllElementsIsFoundWithoutChecks) {
  const UseChecks off(false);
  const Tensor x = random_tensor({5, 70}, kFloat32, 1);
  nn::Linear layer(70, 40);
  float* const kept = layer.weight->mutable_data<float>();
  layer(x);
  for (index_t i = 0; i < layer.weight.count(); ++i) kept[i] -= 0.01F;
  fails("weight", {"elements (40, 70) must be unchanged since they were packed"},
        [&] { layer(x); });
  layer.weight->mutable_data<float>();
  EXPECT_TRUE(is_current(layer, x));
}

TEST(Weight, AMovedOneIsNoWeight) {
  Weight from = Weight::gated(ones({4, 3}));
  Weight to = std::move(from);
  EXPECT_FALSE(from.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(from.rank(), 0);
  EXPECT_TRUE(to.defined());
  Weight plain = ones({2, 2});
  plain = std::move(to);
  EXPECT_FALSE(to.defined());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(plain.shape(), (Shape{4, 3}));
  Weight& same = plain;
  plain = std::move(same);
  EXPECT_TRUE(plain.defined());
  Weight packed = plain.prepacked(WeightFormat::kExact);
  const Weight moved = std::move(packed);
  EXPECT_TRUE(moved.is_prepacked());
  EXPECT_FALSE(packed.defined());  // NOLINT(bugprone-use-after-move)
  fails("prepack", "format must be one of its enum's values, got 9",
        [&] { plain.prepacked(static_cast<WeightFormat>(9)); });
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

TEST(Weight, OpsEndWithTheInstructionSetWithWhichTheyBegan) {
  const std::string before = current_isa();
  const nn::Linear layer(130, 150);
  const Weight rounded = layer.weight.in_format(WeightFormat::kInt8);
  const Tensor x = random_tensor({9, 130}, kFloat32, 2);
  const std::vector<std::function<Tensor()>> ops = {[&] { return layer(x); },
                                                    [&] { return linear(x, rounded); }};
  // Without fused multiply-add, as in "baseline", the bits differ.
  std::vector<std::vector<Tensor>> results(ops.size());
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    for (std::size_t i = 0; i < ops.size(); ++i) results[i].push_back(ops[i]());
  }
  std::atomic<bool> done = false;
  std::atomic<bool> all_equal = true;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    threads.emplace_back([&, i] {
      while (!done) {
        const Tensor y = ops[i]();
        const bool equal = std::ranges::any_of(
            results[i], [&](const Tensor& one) { return static_cast<bool>(same_bits(y, one)); });
        if (!equal) all_equal = false;
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      std::this_thread::yield();
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  set_isa(before);
  EXPECT_TRUE(all_equal);
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
  EXPECT_EQ(panels_of([&] { linear(x, *layer.weight); }), 0) << "a tensor keeps no panels";
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

Weight prepacked(const Weight& weight) {
  return weight.prepacked(WeightFormat::kExact);
}

/// Ranges of rows that begin and end at panels, within them, and one without rows.
const std::vector<std::pair<index_t, index_t>> kRowRanges = {
    {0, 192}, {64, 128}, {128, 192}, {64, 101}, {48, 96}, {5, 40}, {191, 192}, {7, 7}};

/// Expects that rows of `weight` give the columns of `product`, its product with x.
void expect_rows(const Tensor& x, const Weight& weight, const Tensor& product) {
  for (const auto& [begin, end] : kRowRanges) {
    EXPECT_TRUE(same_bits(linear(x, weight.rows(begin, end)), product.slice(1, begin, end)))
        << begin << " to " << end << ", " << x.dtype();
  }
}

TEST_P(WeightTest, RowsGiveTheBitsOfTheirElements) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = random_tensor({9, 50}, dtype, 3);
    const Tensor elements = random_tensor({192, 50}, dtype, 2);
    const Tensor product = linear(x, elements);
    for (const Weight& weight :
         {Weight(elements), Weight::gated(elements), Weight::table(elements)}) {
      expect_rows(x, weight, product);
      if (dtype == kFloat64) continue;
      expect_rows(x, prepacked(weight), product);
      EXPECT_TRUE(same_bits(gated_linear(x, prepacked(weight), {}, Activation::kGelu),
                            gated_linear(x, elements, {}, Activation::kGelu)));
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
  Weight table = Weight::table(random_tensor({64, 8}, kFloat32, 2));
  table = table.in_format(WeightFormat::kInt8);
  EXPECT_FALSE(table.is_prepacked());
  EXPECT_TRUE(table.is_prepacked_or_rounded());
  table = random_tensor({4, 8}, kFloat32, 3);
  EXPECT_TRUE(table.is_table());
  EXPECT_FALSE(table.is_prepacked_or_rounded());
  EXPECT_TRUE(same_bits(linear(x, table), linear(x, *table)));
  table = Weight(*table).prepacked(WeightFormat::kExact);
  EXPECT_TRUE(table.is_table() && !table.is_prepacked());
  const Weight plain(*table);
  const Weight gated = Weight::gated(*table);
  for (const Weight& from : {plain, gated}) {
    Weight copy;
    copy = from;
    EXPECT_TRUE(copy.is_same(from));
    copy = from.prepacked(WeightFormat::kExact);
    EXPECT_TRUE(copy.is_prepacked());
    Weight halves = Weight::gated();
    halves = from;
    EXPECT_TRUE(halves.is_same(gated));
    halves = from.prepacked(WeightFormat::kExact);
    EXPECT_EQ(halves.is_prepacked(), from.is_same(gated)) << "panels for linear() become elements";
    EXPECT_TRUE(same_bits(gated_linear(x, halves, {}, Activation::kSilu),
                          gated_linear(x, gated, {}, Activation::kSilu)));
  }

  Weight prepacked = Weight(random_tensor({4, 8}, kFloat32, 4)).prepacked(WeightFormat::kExact);
  EXPECT_EQ(prepacked.shape(), Shape({4, 8}));
  EXPECT_EQ(prepacked.size(-1), 8);
  EXPECT_EQ(prepacked.count(), 32);
  EXPECT_EQ(prepacked.dtype(), kFloat32);
  EXPECT_TRUE(prepacked.defined());
  fails("weight", {"prepacked weight of shape (4, 8)", "call unpack()"}, [&] { *prepacked; });
  prepacked = random_tensor({4, 8}, kFloat32, 5);
  EXPECT_FALSE(prepacked.is_prepacked());
  EXPECT_TRUE(same_bits(linear(x, prepacked), linear(x, *prepacked)));
  EXPECT_FALSE(Weight().defined());
  fails("prepack", {"float32 matrix", "float64 (4, 8)"}, [] {
    Weight(zeros({4, 8}, kFloat64)).prepacked(WeightFormat::kExact);
  });
}

TEST(Weight, SeveralThreadsMayAskAtOnce) {
  const nn::Linear layer(100, 70);
  const Tensor x = random_tensor({11, 100}, kFloat32, 4);
  const Tensor want = linear(x, *layer.weight, layer.bias);
  expect_from_threads_at_once(want, [&] { return layer(x); });
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
        panels = weight.panels(false);
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
      EXPECT_TRUE(same_bits(linear(x, weight, bias, activation), activated));
      EXPECT_TRUE(same_bits(linear(x, weight, {}, activation), nn::activate(activation, plain)));
      for (const Layout& layout : layouts_of(residual)) {
        EXPECT_TRUE(
            same_bits(linear(x, weight, bias, activation, layout.tensor), activated + residual))
            << layout.name;
      }
    }
  }
}

TEST(Weight, AResidualMustHaveTheOutputsShape) {
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, Activation::kNone, zeros({2, 3})),
               std::invalid_argument);
  EXPECT_THROW(linear(zeros({2, 3}), zeros({4, 3}), {}, Activation::kNone, zeros({2, 4}, kFloat64)),
               std::invalid_argument);
}

TEST_P(WeightTest, PrepackedPanelsGiveTheBitsOfTheElements) {
  for (const auto& [in, out] : std::vector<std::pair<index_t, index_t>>{
           {1, 1}, {7, 33}, {36, 108}, {400, 18}, {385, 66}, {2100, 140}}) {
    const Tensor weight = random_tensor({out, in}, kFloat32, 2);
    const Tensor halves = weight.slice(0, 0, out / 2 * 2);
    const Tensor bias = random_tensor({out}, kFloat32, 4);
    for (index_t rows : {1, 2, 3, 5, 8, 13, 16, 17, 40, 200}) {
      SCOPED_TRACE(tessera::str_cat(rows, " rows, ", in, " -> ", out));
      const Tensor x = random_tensor({rows, in}, kFloat32, 3);
      const Tensor residual = random_tensor({rows, out}, kFloat32, 5);
      EXPECT_TRUE(same_bits(linear(x, prepacked(weight)), linear(x, weight)));
      EXPECT_TRUE(same_bits(linear(x, prepacked(weight), bias, Activation::kGelu, residual),
                            linear(x, weight, bias, Activation::kGelu, residual)));
      if (out > 1) {
        EXPECT_TRUE(
            same_bits(gated_linear(x, prepacked(Weight::gated(halves)), {}, Activation::kSilu),
                      gated_linear(x, halves, {}, Activation::kSilu)));
      }
    }
  }
}

TEST_P(WeightTest, PrepackedPanelsTakeAnyLayoutAndNumberOfThreads) {
  const Tensor elements = random_tensor({700, 600}, kFloat32, 2);
  const Weight weight = prepacked(elements);
  for (index_t rows : {7, 60}) {  // enough work for eight threads
    const Tensor x = random_tensor({rows, 600}, kFloat32, 3);
    const Tensor want = linear(x, elements);
    for (const Layout& layout : layouts_of(x)) {
      for (int threads : {1, 3, 8}) {
        set_thread_count(threads);
        EXPECT_TRUE(same_bits(linear(layout.tensor, weight), want))
            << layout.name << ", " << threads << " threads";
      }
    }
  }
  set_thread_count(0);
}

TEST(Weight, APrepackedOneServesSeveralThreads) {
  const Tensor elements = random_tensor({192, 50}, kFloat32, 2);
  const Weight weight = prepacked(elements);
  const Tensor x = random_tensor({9, 50}, kFloat32, 3);
  const Tensor want = gated_linear(x, elements, {}, Activation::kGelu);
  expect_from_threads_at_once(want, [&] {  // all threads find panels for the other product
    return gated_linear(x, weight, {}, Activation::kGelu);
  });
}

// ---- int8 ----

/// A matrix in int8 by the definition at the head of kernels/int8.h: each row has whole numbers
/// with the values (code - zero) scale.
struct NaiveInt8 {
  std::vector<std::vector<std::int64_t>> codes;
  std::vector<float> scales;
  std::vector<std::int64_t> zeros;

  static constexpr float kLeastScale = 0x1p-126F;

  /// The rows of a weight.
  static NaiveInt8 of_weight(const Tensor& weight) {
    NaiveInt8 all;
    for (const std::vector<float>& row : rows_of(weight)) {
      float largest = 0;
      for (const float x : row) largest = std::max(largest, std::abs(x));
      all.scales.push_back(std::max(largest / 127.0F, kLeastScale));
      all.zeros.push_back(0);
      all.codes.push_back(nearest(row, all.scales.back()));
    }
    return all;
  }

  /// The rows of x.
  static NaiveInt8 of_rows(const Tensor& x) {
    NaiveInt8 all;
    for (const std::vector<float>& row : rows_of(x)) {
      float low = 0;
      float high = 0;
      for (const float value : row) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
      const float above = high / 255.0F;
      const float below = low / 255.0F;
      all.scales.push_back(std::max(above - below, kLeastScale));
      all.zeros.push_back(nearest({-low}, all.scales.back())[0]);
      all.codes.push_back(nearest(row, all.scales.back()));
      for (std::int64_t& code : all.codes.back()) {
        code = std::min<std::int64_t>(code + all.zeros.back(), 255);
        EXPECT_GE(code, 0);
      }
    }
    return all;
  }

  /// The values of the codes.
  Tensor values(const Shape& shape) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      for (const std::int64_t code : codes[i]) all.push_back(static_cast<float>(code) * scales[i]);
    }
    return from_vector(all, shape);
  }

 private:
  static std::vector<std::vector<float>> rows_of(const Tensor& matrix) {
    const std::vector<float> all = matrix.to_vector<float>();
    const auto k = static_cast<std::size_t>(matrix.size(-1));
    std::vector<std::vector<float>> rows(static_cast<std::size_t>(matrix.size(0)));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].assign(all.begin() + static_cast<std::ptrdiff_t>(i * k),
                     all.begin() + static_cast<std::ptrdiff_t>((i + 1) * k));
    }
    return rows;
  }

  static std::vector<std::int64_t> nearest(const std::vector<float>& row, float scale) {
    const float per_unit = 1.0F / scale;
    std::vector<std::int64_t> codes;
    for (const float x : row) {
      const float quotient = x * per_unit;
      codes.push_back(static_cast<std::int64_t>(std::nearbyint(quotient)));
    }
    return codes;
  }
};

/// x weight^T in int8: exact sums; each is rounded once and scaled by one number.
Tensor naive_int8_product(const Tensor& x, const Tensor& weight) {
  const NaiveInt8 a = NaiveInt8::of_rows(x);
  const NaiveInt8 b = NaiveInt8::of_weight(weight);
  std::vector<float> product;
  for (std::size_t i = 0; i < a.codes.size(); ++i) {
    for (std::size_t j = 0; j < b.codes.size(); ++j) {
      std::int64_t sum = 0;
      for (std::size_t p = 0; p < a.codes[i].size(); ++p) {
        sum += (a.codes[i][p] - a.zeros[i]) * b.codes[j][p];
      }
      const float scale = a.scales[i] * b.scales[j];
      product.push_back(static_cast<float>(sum) * scale);
    }
  }
  return from_vector(product, {x.size(0), weight.size(0)});
}

/// Each instruction set, with and without the processor's dot products of bytes.
class Int8WeightTest : public WeightTest {
 protected:
  void TearDown() override {
    set_dot_products(true);
    set_thread_count(0);
    WeightTest::TearDown();
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, Int8WeightTest, each_isa(), isa_name);

Weight in_int8(const Weight& weight) {
  return weight.prepacked(WeightFormat::kInt8);
}

/// Rows of x that are hard to round: zeros, one value, one sign, an outlier, tiny and huge numbers.
Tensor hard_rows(index_t rows, index_t k) {
  Tensor x = random_tensor({rows, k}, kFloat32, 3);
  const std::vector<std::function<void(Tensor)>> kinds = {
      [](const Tensor&) {},
      [](Tensor row) { row.fill(0); },
      [](Tensor row) { row.fill(-0.7); },
      [](Tensor row) { row.select(0, row.size(0) / 2).fill(1e6); },
      [](Tensor row) { row.fill(1e-41); },
      [](Tensor row) { row.select(0, 0).fill(-3e38); },
      [](Tensor row) { row.slice(0, 0, row.size(0) / 2).fill(2.5); },
  };
  for (index_t i = 0; i < rows && k > 0; ++i) {
    kinds[static_cast<std::size_t>(i) % kinds.size()](x.select(0, i));
  }
  return x;
}

TEST_P(Int8WeightTest, ProductsHaveTheBitsOfTheDefinition) {
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    for (const auto& [k, n] : std::vector<std::pair<index_t, index_t>>{
             {0, 64}, {1, 64}, {3, 65}, {36, 108}, {129, 70}, {400, 196}, {1030, 66}}) {
      const Tensor weight = hard_rows(n, k);
      const Weight prepacked = in_int8(weight);
      const Tensor bias = random_tensor({n}, kFloat32, 4);
      for (const index_t rows : {1, 2, 7, 13, 40}) {
        SCOPED_TRACE(str_cat(rows, " rows, ", k, " -> ", n, dots ? ", dots" : ""));
        const Tensor x = hard_rows(rows, k);
        const Tensor residual = random_tensor({rows, n}, kFloat32, 5);
        const Tensor product = naive_int8_product(x, weight);
        EXPECT_TRUE(same_bits(linear(x, prepacked), product));
        EXPECT_TRUE(same_bits(linear(x, prepacked, bias), product + bias));
        for (const Activation activation : {Activation::kRelu, Activation::kGelu}) {
          EXPECT_TRUE(same_bits(linear(x, prepacked, bias, activation, residual),
                                nn::activate(activation, product + bias) + residual));
        }
      }
    }
  }
}

TEST_P(Int8WeightTest, GatedAndRotaryProductsHaveTheBitsOfTheDefinition) {
  nn::Rotary rotary({}, 24);
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    for (const auto& [k, n] :
         std::vector<std::pair<index_t, index_t>>{{36, 108}, {129, 70}, {64, 144}}) {
      SCOPED_TRACE(str_cat(k, " -> ", n, dots ? ", dots" : ""));
      const Tensor weight = hard_rows(n, k);
      const Tensor bias = random_tensor({n}, kFloat32, 4);
      const Tensor x = hard_rows(19, k);
      const Tensor sums = naive_int8_product(x, weight) + bias;
      EXPECT_TRUE(same_bits(
          gated_linear(x, in_int8(Weight::gated(weight)), bias, Activation::kSilu),
          nn::activate(Activation::kSilu, sums.slice(1, 0, n / 2)) * sums.slice(1, n / 2)));
      const RotaryColumns columns = rotary.columns(2, kFloat32);
      const Tensor rotated = rotary_linear(x, in_int8(weight), bias, columns);
      EXPECT_TRUE(same_bits(rotated.slice(1, 48), sums.slice(1, 48)));
      for (const index_t head : {0, 1}) {
        const auto part = [&](const Tensor& y) { return y.slice(1, 24 * head, 24 * head + 24); };
        EXPECT_TRUE(
            same_bits(part(rotated), rotary(part(sums).reshape({19, 1, 24})).reshape({19, 24})))
            << head;
      }
    }
  }
}

TEST_P(Int8WeightTest, RowsAndTheOtherOrderHaveTheSameCodes) {
  const Tensor x = hard_rows(9, 50);
  const Tensor elements = hard_rows(192, 50);
  const Tensor product = naive_int8_product(x, elements);
  const Tensor gated =
      nn::activate(Activation::kSilu, product.slice(1, 0, 96)) * product.slice(1, 96);
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    for (const Weight& weight :
         {Weight(elements), Weight::gated(elements), Weight::table(elements)}) {
      const Weight prepacked = in_int8(weight);
      expect_rows(x, prepacked, product);
      EXPECT_TRUE(same_bits(gated_linear(x, prepacked, {}, Activation::kSilu), gated));
      const Tensor part = naive_int8_product(x, elements.slice(0, 10, 60));
      EXPECT_TRUE(
          same_bits(gated_linear(x, prepacked.rows(10, 60), {}, Activation::kSilu),
                    nn::activate(Activation::kSilu, part.slice(1, 0, 25)) * part.slice(1, 25)));
    }
  }
}

TEST_P(Int8WeightTest, ARowHasTheSameBitsInAnyBatchLayoutAndNumberOfThreads) {
  const Weight prepacked = in_int8(hard_rows(560, 1200));  // enough work for eight threads
  const Tensor x = hard_rows(60, 1200);
  const Tensor want = linear(x, prepacked);
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    for (const Layout& layout : layouts_of(x)) {
      for (int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        EXPECT_TRUE(same_bits(linear(layout.tensor, prepacked), want))
            << layout.name << ", " << threads << " threads";
      }
    }
    const Tensor batch = linear(x.reshape({3, 5, 4, 1200}), prepacked);
    EXPECT_EQ(batch.shape(), Shape({3, 5, 4, 560}));
    EXPECT_TRUE(same_bits(batch.reshape({60, 560}), want));
    for (index_t i = 0; i < 60; ++i) {
      EXPECT_TRUE(same_bits(linear(x.slice(0, i, i + 1), prepacked), want.slice(0, i, i + 1))) << i;
      EXPECT_TRUE(same_bits(linear(x.select(0, i), prepacked), want.select(0, i))) << i;
    }
    EXPECT_EQ(linear(zeros({0, 1200}), prepacked).shape(), Shape({0, 560}));
    EXPECT_EQ(linear(zeros({2, 0, 1200}), prepacked).shape(), Shape({2, 0, 560}));
  }
}

TEST_P(Int8WeightTest, UnpackedElementsAreCodesTimesScales) {
  const Tensor elements = hard_rows(192, 50);
  const Tensor want = NaiveInt8::of_weight(elements).values(elements.shape());
  const Tensor x = random_tensor({5, 50}, kFloat32, 6);
  for (const Weight& weight : {Weight(elements), Weight::gated(elements)}) {
    const Weight prepacked = in_int8(weight);
    EXPECT_TRUE(prepacked.is_prepacked() && prepacked.is_prepacked_or_rounded());
    EXPECT_TRUE(same_bits(*prepacked.unpacked(), want));
    EXPECT_TRUE(same_bits(linear(x, in_int8(prepacked)), linear(x, prepacked)));
    EXPECT_TRUE(same_bits(linear(x, prepacked.prepacked(WeightFormat::kExact)), linear(x, want)));
    EXPECT_TRUE(same_bits(*in_int8(weight.prepacked(WeightFormat::kExact)).unpacked(), want));
  }
}

TEST_P(Int8WeightTest, AWeightThatDoesNotFitStaysExact) {
  for (const Shape& shape : {Shape{63, 40}, Shape{1, 4}, Shape{64, 65537}}) {
    const Tensor weight = random_tensor(shape, kFloat32, 2);
    const Tensor x = random_tensor({2, shape[1]}, kFloat32, 3);
    EXPECT_TRUE(same_bits(linear(x, in_int8(weight)), linear(x, weight))) << shape;
    EXPECT_TRUE(same_bits(*in_int8(weight).unpacked(), weight)) << shape;
  }
  const Tensor wide = random_tensor({64, 10}, kFloat64, 2);
  const Tensor x = random_tensor({2, 10}, kFloat64, 3);
  EXPECT_TRUE(same_bits(linear(x, Weight(wide).in_format(WeightFormat::kInt8)), linear(x, wide)));
  const Tensor fits = random_tensor({64, 40}, kFloat32, 2);
  EXPECT_FALSE(same_bits(*in_int8(fits).unpacked(), fits));
}

TEST_P(Int8WeightTest, LosesNoGradientInSilence) {
  const Tensor elements = random_tensor({128, 40}, kFloat32, 1).set_requires_grad();
  const Weight rounded = Weight(elements).in_format(WeightFormat::kInt8);
  const Tensor x = random_tensor({2, 40}, kFloat32, 3);
  Tape tape;
  for (const Weight& weight : {rounded, rounded.rows(0, 64)}) {
    fails("linear", "must not be prepacked or rounded", [&] { linear(x, weight); });
  }
}

/// The row and the column each have one huge element; the float32 product is finite.
TEST_P(Int8WeightTest, ScalesWhoseProductOverflowsGiveInfOrNaN) {
  Tensor x = random_tensor({3, 50}, kFloat32, 3);
  x.select(0, 1).fill(0);
  x.select(0, 1).slice(0, 7, 8).fill(3e38);
  Tensor weight = random_tensor({70, 50}, kFloat32, 2);
  weight.select(0, 4).fill(0);
  weight.select(0, 4).slice(0, 9, 10).fill(1e38);
  EXPECT_EQ(linear(x, weight).item_at<float>({1, 4}), 0);
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    Tensor got = linear(x, in_int8(weight));
    EXPECT_TRUE(std::isnan(got.item_at<float>({1, 4}))) << "0 times inf";
    got.select(0, 1).slice(0, 4, 5).fill(0);
    Tensor want = naive_int8_product(x, weight);
    want.select(0, 1).slice(0, 4, 5).fill(0);
    EXPECT_TRUE(same_bits(got, want));
    x.select(0, 1).slice(0, 9, 10).fill(3e37);
    EXPECT_EQ(linear(x, in_int8(weight)).item_at<float>({1, 4}), kInf);
    x.select(0, 1).slice(0, 9, 10).fill(0);
  }
}

TEST_P(Int8WeightTest, WeightsThatAreNotFiniteAreErrors) {
  Tensor weight = random_tensor({70, 50}, kFloat32, 2);
  weight.select(0, 66).select(0, 49).fill(-kInf);
  fails("prepack", "w must be finite for int8",
        [&] { Weight(weight).check_prepackable("w", WeightFormat::kInt8); });
  EXPECT_NO_THROW(Weight(weight).check_prepackable("w", WeightFormat::kExact));
  fails("weight", {"elements (70, 50) must be finite for int8", "got inf or NaN"},
        [&] { in_int8(weight); });
}

/// Also in float32, such a row is not finite and does not change other rows.
TEST_P(Int8WeightTest, ARowThatIsNotFiniteGivesNaNs) {
  nn::Rotary turn({}, 24);
  const Weight prepacked = in_int8(hard_rows(70, 50));
  const Tensor bias = random_tensor({70}, kFloat32, 4);
  const Tensor residual = random_tensor({14, 70}, kFloat32, 5);
  const Tensor x = hard_rows(14, 50);
  std::vector<std::function<Tensor(const Tensor&)>> products = {
      [&](const Tensor& rows) { return linear(rows, prepacked, bias); },
      [&](const Tensor& rows) { return gated_linear(rows, prepacked, bias, Activation::kSilu); },
      [&](const Tensor& rows) {
        return rotary_linear(rows, prepacked, bias, turn.columns(2, kFloat32));
      }};
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    products.emplace_back([&, activation](const Tensor& rows) {
      return linear(rows, prepacked, bias, activation, residual);
    });
  }
  for (const bool dots : {true, false}) {
    set_dot_products(dots);
    for (std::size_t number = 0; number < products.size(); ++number) {
      const Tensor want = products[number](x);
      for (const double bad : {kInf, -kInf, kNaN}) {
        for (const index_t row : {0, 6, 13}) {
          Tensor spoiled = x.clone();
          spoiled.select(0, row).select(0, 7 * row % 50).fill(bad);
          const Tensor got = products[number](spoiled);
          for (const float y : got.select(0, row).to_vector<float>()) {
            ASSERT_TRUE(std::isnan(y)) << "product " << number;
          }
          got.select(0, row).copy_from(want.select(0, row));
          EXPECT_TRUE(same_bits(got, want)) << "product " << number;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
