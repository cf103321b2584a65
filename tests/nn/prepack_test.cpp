#include "tessera/nn/prepack.h"

#include "tessera/nn/nn.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::nn {
namespace {

using namespace test;

const std::vector<std::string> kGivenUp = {"elements must be readable",
                                           "prepacked weight of shape (4, 8)"};

/// One of every module that multiplies by a weight.
struct Model {
  Embedding table;
  Linear output;  // its weight is the table
  MultiHeadAttention self_attention, cross_attention, wide_attention;
  FeedForward plain, gated;
  std::vector<Linear> pair;  // of one weight

  explicit Model(index_t width, Rng rng = Rng(5))
      : table(50, width, rng),
        output({.in_features = width, .out_features = 50}, rng),
        self_attention({.embed_dim = width, .num_heads = 2, .rotary = RotaryOptions{}}, rng),
        cross_attention({.embed_dim = width, .num_heads = 2}, rng),
        wide_attention({.embed_dim = width, .num_heads = 2, .kdim = 20, .vdim = 24}, rng),
        plain({.d_model = width, .dim_feedforward = 2 * width + 1}, rng),
        gated({.d_model = width, .dim_feedforward = 3 * width, .gated = true}, rng),
        pair(2, Linear({.in_features = width, .out_features = width}, rng)) {
    output.weight = table.weight;
    eval(*this);
  }

  Tensor operator()(const Tensor& ids) const {
    Tensor x = self_attention({.query = table(ids)}).output;
    x = cross_attention({.query = x, .key = table(ids)}).output;
    x = wide_attention({.query = x, .key = x.slice(-1, 0, 20), .value = x.slice(-1, 4, 28)}).output;
    return output(pair[1](pair[0](gated(plain(x, x)))));
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("output", self.output);
    visitor("self_attention", self.self_attention);
    visitor("cross_attention", self.cross_attention);
    visitor("wide_attention", self.wide_attention);
    visitor("plain", self.plain);
    visitor("gated", self.gated);
    visitor("pair", self.pair);
  }
};

using PrepackTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, PrepackTest, each_isa(), isa_name);

/// A width that is a multiple of every panel, and one that is a multiple of none.
const std::vector<index_t> kWidths = {64, 36};
const Tensor kIds = tensor({{1, 2, 3, 4, 49}, {7, 7, 0, 31, 2}});

TEST_P(PrepackTest, GivesTheBitsThatItGave) {
  for (index_t width : kWidths) {
    Model model(width);
    const Tensor before = model(kIds);
    const std::string table = summary(model);
    const index_t count = parameter_count(model);
    prepack(model);
    EXPECT_TRUE(same_bits(model(kIds), before));
    EXPECT_EQ(summary(model), table);
    EXPECT_EQ(parameter_count(model), count);
    EXPECT_TRUE(model.plain.linear1.weight.is_prepacked());
    EXPECT_FALSE(model.table.weight.is_prepacked());
    EXPECT_TRUE(model.output.weight->storage() == model.table.weight->storage());
    EXPECT_TRUE(model.pair[0].weight.is_same(model.pair[1].weight));

    const Model copy = model;
    EXPECT_TRUE(same_bits(copy(kIds), before));
    EXPECT_TRUE(same_bits(clone(model)(kIds), before));
    unpack(model);
    EXPECT_TRUE(same_bits(model(kIds), before));
    EXPECT_TRUE(same_bits(copy(kIds), before)) << "a copy stays prepacked";
    EXPECT_NO_THROW(for_each_parameter(model, [](const std::string&, const Tensor&) {}));
    const auto want = state_dict(Model(width));
    for (const auto& [name, tensor] : state_dict(model)) {
      EXPECT_TRUE(name == "output.weight" || same_bits(tensor, want.at(name))) << name;
    }
    EXPECT_TRUE(model.pair[0].weight->storage() == model.pair[1].weight->storage());
  }
}

using Keep = std::function<bool(const std::string&)>;

/// The names of the weights that prepacking in int8 has changed.
std::string rounded_in_int8(const Keep& keep) {
  Model model(64);
  prepack(model, {.format = WeightFormat::kInt8, .keep = keep});
  unpack(model);
  std::string names;
  const auto before = state_dict(Model(64));
  for (const auto& [name, tensor] : state_dict(model)) {
    if (!same_bits(tensor, before.at(name))) names += name + ' ';
  }
  return names;
}

TEST_P(PrepackTest, Int8IsForWeightsOf64RowsThatAreNotKept) {
  const std::string cross = "cross_attention.in_proj_weight cross_attention.out_proj.weight ";
  const std::string gated = "gated.linear1.weight gated.linear2.weight ";
  const std::string pair = "pair.0.weight pair.1.weight ";
  const std::string rest =
      "plain.linear1.weight plain.linear2.weight self_attention.in_proj_weight "
      "self_attention.out_proj.weight wide_attention.k_proj_weight wide_attention.out_proj.weight "
      "wide_attention.q_proj_weight wide_attention.v_proj_weight ";
  const auto starts_with = [](const std::string& start) {
    return [=](const std::string& name) { return name.starts_with(start); };
  };
  EXPECT_EQ(rounded_in_int8({}), cross + gated + pair + rest);
  EXPECT_EQ(rounded_in_int8(starts_with("cross_")), gated + pair + rest);
  EXPECT_EQ(rounded_in_int8(starts_with("pair.0.weight")), cross + gated + rest);
  EXPECT_EQ(rounded_in_int8(starts_with("pair.1.weight")), cross + gated + rest);
  EXPECT_EQ(rounded_in_int8(starts_with("")), "");
}

TEST_P(PrepackTest, Int8OfAModelIsThatOfItsWeights) {
  for (index_t width : {64, 72}) {
    Model model(width);
    Model layers(width);
    const Tensor exact = model(kIds);
    prepack(model, {.format = WeightFormat::kInt8});
    prepack(layers);
    unpack(layers);
    for (Weight* const weight :
         {&layers.self_attention.in_proj_weight, &layers.self_attention.out_proj.weight,
          &layers.cross_attention.in_proj_weight, &layers.cross_attention.out_proj.weight,
          &layers.wide_attention.q_proj_weight, &layers.wide_attention.k_proj_weight,
          &layers.wide_attention.v_proj_weight, &layers.wide_attention.out_proj.weight,
          &layers.plain.linear1.weight, &layers.plain.linear2.weight, &layers.gated.linear1.weight,
          &layers.gated.linear2.weight, &layers.pair[0].weight, &layers.pair[1].weight}) {
      *weight = weight->prepacked(WeightFormat::kInt8);
    }
    const Tensor got = model(kIds);
    EXPECT_TRUE(same_bits(got, layers(kIds)));
    EXPECT_FALSE(same_bits(got, exact));
    EXPECT_TRUE(same_bits(clone(model)(kIds), got));
    EXPECT_TRUE(same_bits(Model(model)(kIds), got));
    Model assigned(width, Rng(6));
    assigned = model;
    EXPECT_TRUE(same_bits(assigned(kIds), got));
    for (int threads : {1, 2, 3, 8}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(model(kIds), got)) << threads << " threads";
    }
    set_thread_count(0);
    for (index_t b : {0, 1}) {
      EXPECT_TRUE(same_bits(model(kIds.slice(0, b, b + 1)), got.slice(0, b, b + 1))) << b;
    }
  }
}

/// An embedding, and an output of the same weight.
struct TiedTable {
  Embedding table;
  Linear output;

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("output", self.output);
  }
};

TEST_P(PrepackTest, Int8OfAnOutputThatIsTiedLeavesTheTable) {
  Rng rng(5);
  TiedTable model = {Embedding(90, 40, rng), Linear({.in_features = 40, .out_features = 90}, rng)};
  model.output.weight = model.table.weight;
  const Tensor elements = model.table.weight->clone();
  const Tensor rows = model.table(kIds);
  prepack(model, {.format = WeightFormat::kInt8});
  EXPECT_TRUE(same_bits(model.table(kIds), rows));
  EXPECT_TRUE(model.output.weight->storage() == model.table.weight->storage());
  EXPECT_TRUE(model.output.weight.is_prepacked_or_rounded());
  const Tensor x = random_tensor({3, 40}, kFloat32, 6);
  const Weight rounded = Weight(elements).prepacked(WeightFormat::kInt8);
  EXPECT_TRUE(same_bits(model.output(x), linear(x, rounded, model.output.bias)));
  EXPECT_FALSE(same_bits(model.output(x), linear(x, elements, model.output.bias)));
  unpack(model);
  EXPECT_TRUE(same_bits(model.output(x), linear(x, elements, model.output.bias)));
}

TEST(Prepack, Int8NeedsFiniteWeightsOrChangesNothing) {
  for (const double bad : {kInf, -kInf, kNaN}) {
    Model model(64);
    model.gated.linear2.weight->select(0, 3).select(0, 5).fill(bad);
    for (const bool prepacked : {false, true}) {
      if (prepacked) prepack(model);
      fails("prepack", {"gated.linear2.weight", "finite for int8", "got inf or NaN"},
            [&] { prepack(model, {.format = WeightFormat::kInt8}); });
      if (prepacked) unpack(model);
    }
    for (const auto& [name, tensor] : state_dict(model)) {  // has all elements
      EXPECT_TRUE(name == "gated.linear2.weight" ||
                  same_bits(tensor, state_dict(Model(64)).at(name)))
          << name;
    }
    const auto keep = [](const std::string& name) { return name == "gated.linear2.weight"; };
    EXPECT_NO_THROW(prepack(model, {.format = WeightFormat::kInt8, .keep = keep}));
  }
}

TEST(Prepack, Int8NeedsFiniteTablesOrChangesNothing) {
  for (const bool is_tied : {true, false}) {
    Rng rng(5);
    TiedTable model = {Embedding(90, 40, rng),
                       Linear({.in_features = 40, .out_features = 90}, rng)};
    if (is_tied) model.output.weight = model.table.weight;
    const Tensor x = random_tensor({3, 40}, kFloat32, 6);
    model.table.weight->select(0, 89).select(0, 39).fill(kNaN);
    const Tensor before = model.output(x);
    fails("prepack", "table.weight must be finite for int8, got inf or NaN",
          [&] { prepack(model, {.format = WeightFormat::kInt8}); });
    EXPECT_FALSE(model.output.weight.is_prepacked_or_rounded() ||
                 model.table.weight.is_prepacked_or_rounded());
    EXPECT_TRUE(same_bits(model.output(x), before));
    const auto keep = [](const std::string& name) { return name == "table.weight"; };
    EXPECT_NO_THROW(prepack(model, {.format = WeightFormat::kInt8, .keep = keep}));
    EXPECT_NO_THROW(prepack(model));
  }
  Embedding few(63, 40);
  few.weight->fill(kInf);
  EXPECT_NO_THROW(prepack(few, {.format = WeightFormat::kInt8})) << "no product rounds it";
}

TEST(Prepack, Int8ServesSeveralThreads) {
  Model model(64);
  prepack(model, {.format = WeightFormat::kInt8});
  const Tensor want = model(kIds);
  expect_from_threads_at_once(want, [&] { return model(kIds); });
}

TEST(Prepack, IsForTheInstructionSetInUse) {
  const std::string before = current_isa();
  for (WeightFormat format : {WeightFormat::kExact, WeightFormat::kInt8}) {
    for (const std::string& prepacked_for : available_isas()) {
      set_isa(prepacked_for);
      Model model(36);
      prepack(model, {format});
      for (const std::string& isa : available_isas()) {
        set_isa(isa);
        if (isa != prepacked_for) {
          fails("weight", {"prepacked", isa, "call prepack() again"}, [&] { model(kIds); });
        }
        Model again = model;
        prepack(again, {format});
        Model fresh(36);
        prepack(fresh, {format});
        EXPECT_TRUE(same_bits(again(kIds), fresh(kIds))) << prepacked_for << " to " << isa;
      }
    }
    set_isa(before);
  }
}

TEST(Prepack, HoldsAWeightOnce) {
  constexpr index_t kElements = index_t{512} * 640;
  release_cached_memory();
  const index_t empty = memory_stats().in_use;
  Linear layer({.in_features = 512, .out_features = 640, .bias = false});
  layer(zeros({1, 512}));
  EXPECT_GE(memory_stats().in_use - empty, 2 * 4 * kElements);
  for (const auto& [format, size] :
       {std::pair{WeightFormat::kExact, index_t{4}}, std::pair{WeightFormat::kInt8, index_t{1}}}) {
    prepack(layer, {format});
    EXPECT_EQ(memory_stats().cached, 0) << "what was given up went to the system";
    const Linear copy = layer;
    copy(zeros({1, 512}));
    EXPECT_GE(memory_stats().in_use - empty, size * kElements);
    EXPECT_LE(memory_stats().in_use - empty, size * kElements * 5 / 4);
  }
  layer = Linear(3, 4);
  EXPECT_LE(memory_stats().in_use - empty, 2 * 512);
}

TEST(Prepack, WhatNeedsElementsSaysThatTheyAreGone) {
  Linear layer(8, 4);
  const StateDict state = state_dict(Linear(8, 4));
  const Tensor x = ones({2, 8});
  prepack(layer);
  fails("weight", kGivenUp, [&] { layer.weight->data<float>(); });
  fails("weight", kGivenUp, [&] { layer.weight->clone(); });
  fails("weight", kGivenUp, [&] { layer.weight->fill(1); });
  fails("weight", kGivenUp, [&] { set_requires_grad(layer); });
  fails("weight", kGivenUp, [&] { convert(layer, kFloat64); });
  fails("weight", kGivenUp, [&] { matmul(x, layer.weight); });
  fails("weight", kGivenUp, [&] { state_dict(layer); });
  fails("weight", kGivenUp, [&] { load_state_dict(layer, state); });
  EXPECT_TRUE(same_bits(linear(x, layer.weight, layer.bias), layer(x)));
  layer.bias.set_requires_grad();  // the rest may learn
  EXPECT_EQ(parameters(layer).size(), 1U);
  zero_grad(layer);
  set_requires_grad(layer, false);
  EXPECT_FALSE(layer.bias.requires_grad());
}

TEST(Prepack, NoGradientPasses) {
  Tensor x = ones({2, 8});
  x.set_requires_grad();
  FeedForward gated({.d_model = 8, .dim_feedforward = 6, .gated = true});
  for (WeightFormat format : {WeightFormat::kExact, WeightFormat::kInt8}) {
    Linear layer(8, 64);
    prepack(layer, {format});
    prepack(gated, {format});
    Tape tape;
    fails("linear", {"(64, 8)", "prepacked", "unpack"}, [&] { layer(x); });
    fails("gated_linear", {"(12, 8)", "prepacked"}, [&] { gated(x); });
    EXPECT_NO_THROW(layer(x.detach()));
    unpack(layer);
    tape.backward(sum(layer(x)));
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

TEST(Prepack, NoGradientPassesRoundedPanelsOfAWeightThatStays) {
  TiedTable model = {Embedding(90, 40), Linear({.in_features = 40, .out_features = 90})};
  model.output.weight = model.table.weight;
  prepack(model, {WeightFormat::kInt8});
  const Tensor x = ones({2, 40}).set_requires_grad();
  Tape tape;
  fails("linear", {"(90, 40)", "prepacked"}, [&] { model.output(x); });
}

TEST(Prepack, PanelsServeWholeRowsAlone) {
  Linear layer({.in_features = 8, .out_features = 4, .bias = false});
  prepack(layer);
  EXPECT_NO_THROW(linear(ones({2, 8}), layer.weight.rows(1, 3)));
  fails("weight", kGivenUp, [&] { layer.weight->t(); });
  fails("weight", kGivenUp, [&] { layer.weight->slice(0, {}, {}, 2); });
  fails("weight", kGivenUp, [&] { layer.weight->slice(1, 0, 4); });
  fails("rows", {"(4, 8)", "3 to 5"}, [&] { layer.weight.rows(3, 5); });
  fails("rows", "3 to 2", [&] { layer.weight.rows(3, 2); });
}

TEST(Prepack, AnotherWeightIsAnOrdinaryOne) {
  const Tensor x = random_tensor({3, 8}, kFloat32, 2);
  Linear layer(8, 64);
  prepack(layer, {WeightFormat::kInt8});
  layer.weight = random_tensor({64, 8}, kFloat32, 3);
  EXPECT_TRUE(same_bits(layer(x), linear(x, *layer.weight, layer.bias)));
  set_requires_grad(layer);
  Tape tape;
  tape.backward(sum(layer(x)));
  EXPECT_TRUE(layer.weight->grad().defined());
}

TEST(Prepack, WorksWhileATapeRecords) {
  for (const WeightFormat format : {WeightFormat::kExact, WeightFormat::kInt8}) {
    Model model(64);
    set_requires_grad(model);
    Tape tape;
    prepack(model, {format});
    EXPECT_TRUE(model.pair[0].weight.is_prepacked());
    EXPECT_FALSE(model.table.weight.is_prepacked());
  }
}

TEST(Prepack, ACopyOfAModuleServesTheProductsOfTheOther) {
  FeedForward copy({.d_model = 8, .dim_feedforward = 4});
  const FeedForward gated({.d_model = 8, .dim_feedforward = 4, .gated = true});
  copy = gated;
  EXPECT_TRUE(copy.linear1.weight.is_same(gated.linear1.weight));
}

TEST(Prepack, AnOptimizerOfWhatWasGivenUpSaysSo) {
  Linear layer(8, 4);
  set_requires_grad(layer);
  SGD optimizer(layer);
  Linear copy = clone(layer);
  prepack(copy);
  layer.weight->grad_slot()->gradient = ones({4, 8});
  EXPECT_NO_THROW(optimizer.step());
  prepack(layer);
  unpack(layer);
  EXPECT_FALSE(layer.weight->requires_grad());
  fails("SGD", "weight must still be a variable of the model", [&] { optimizer.step(); });
}

TEST(Prepack, AWeightStaysForItsReadersWhenAnotherIsAssigned) {
  Model model(64);
  model.output.weight = Linear({.in_features = 64, .out_features = 50}).weight;
  model.table.weight = model.output.weight;
  const Tensor ids = from_vector<index_t>({1, 2, 3, 49}, {2, 2});
  const Tensor expected = model(ids);
  prepack(model);
  EXPECT_FALSE(model.table.weight.is_prepacked());
  EXPECT_TRUE(same_bits(model(ids), expected));
}

TEST(Prepack, ATableTakesTheElementsOfAPrepackedWeight) {
  Model model(64);
  const Tensor elements = randn({50, 64});
  model.table.weight = Weight(elements).prepacked(WeightFormat::kExact);
  EXPECT_TRUE(same_bits(*model.table.weight, elements));
  prepack(model, {WeightFormat::kInt8});
  EXPECT_TRUE(same_bits(model.table(from_vector<index_t>({7}, {1})), elements.slice(0, 7, 8)));
}

/// Two readers of one weight, for different products.
struct TwoProducts {
  Weight gated = Weight::gated(randn({48, 16}));
  Weight plain = *gated;

  static void visit(auto& self, auto&& visitor) {
    visitor("gated", self.gated);
    visitor("plain", self.plain);
  }
};

TEST(Prepack, KeepsTheProductsOfWeightsThatShareElements) {
  TwoProducts model;
  const Tensor elements = *model.plain;
  prepack(model);
  model.gated = model.plain;  // its panels are for linear()
  unpack(model);
  EXPECT_TRUE(same_bits(*model.plain, elements));
  EXPECT_TRUE(model.plain.is_same(Weight(*model.plain)));
  EXPECT_TRUE(model.gated.is_same(Weight::gated(*model.gated)));
}

TEST(Prepack, AGatedWeightStaysGatedAndHasTwoHalves) {
  FeedForward gated({.d_model = 8, .dim_feedforward = 4, .gated = true});
  const Linear other(8, 8);
  gated.linear1.weight = other.weight;
  EXPECT_FALSE(gated.linear1.weight.is_same(other.weight)) << "they serve different products";
  const Tensor x = randn({3, 8});
  const Tensor expected = gated(x);
  prepack(gated);
  EXPECT_TRUE(same_bits(gated(x), expected));
  unpack(gated);
  gated.linear1.weight = zeros({5, 8});
  fails("prepack", {"linear1.weight", "even number of rows", "(5, 8)"}, [&] { prepack(gated); });
  EXPECT_FALSE(gated.linear2.weight.is_prepacked()) << "nothing is changed";
}

TEST(Prepack, TakesFloat32MatricesOnly) {
  Model model(64);
  convert(model.gated, kFloat64);
  fails("prepack", {"gated.linear1.weight", "float64", "(384, 64)"}, [&] { prepack(model); });
  EXPECT_FALSE(model.self_attention.in_proj_weight.is_prepacked()) << "nothing is changed";
}

}  // namespace
}  // namespace tessera::nn
