// Visits: buffers, members that are forgotten, modules of any type.
#include "tessera/nn/visit.h"

#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

struct Table {
  Buffer table{full({3}, 1.0 / 3, kFloat64)};
  Buffer ids{arange(3)};

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("ids", self.ids);
  }
};

TEST(Buffer, FollowsConvertAndLosesNothing) {
  Table module;
  EXPECT_TRUE(same_bits(module.table.value(), full({3}, 1.0 / 3)));
  convert(module, kFloat64);
  EXPECT_TRUE(same_bits(module.table.value(), full({3}, 1.0 / 3, kFloat64)));
  convert(module, kFloat32);
  EXPECT_EQ(module.table.value().dtype(), kFloat32);
  EXPECT_EQ(module.ids.value().dtype(), kInt64);
  EXPECT_FALSE(Buffer().value().defined());
}

TEST(Buffer, IsNoParameter) {
  Table module;
  set_requires_grad(module);
  EXPECT_FALSE(module.table.value().requires_grad());
  EXPECT_TRUE(state_dict(module).empty());
  EXPECT_TRUE(parameters(module).empty());
  EXPECT_EQ(parameter_count(module), 0);
  EXPECT_EQ(summary(module), describe({}));
}

TEST(Buffer, StaysInAClone) {
  Table module;
  convert(module, kFloat64);
  const Table copy = clone(module);
  convert(module, kFloat32);
  EXPECT_TRUE(same_bits(copy.table.value(), full({3}, 1.0 / 3, kFloat64)));
}

TEST(Buffer, HoldsTheTableOfPositions) {
  PositionalEncoding positions({.d_model = 4, .max_positions = 5});
  EXPECT_TRUE(same_bits(positions.table.value(), sinusoidal_positions(5, 4)));
  convert(positions, kFloat64);
  EXPECT_TRUE(same_bits(positions.table.value(), sinusoidal_positions(5, 4, kFloat64)));
}

// ---- members that visit omits ----

/// A network whose visit omits a list of parts.
struct Forgetful {
  Linear first{4, 8};
  std::vector<Linear> rest = {Linear(8, 8), Linear(8, 2)};

  Tensor operator()(const Tensor& x) const { return rest[1](relu(rest[0](relu(first(x))))); }

  static void visit(auto& self, auto&& visitor) { visitor("first", self.first); }
};

TEST(Visit, AnOmittedMemberIsAnErrorInTheFirstStep) {
  Forgetful model;
  const Tensor x = randn({3, 4});
  EXPECT_EQ(model(x).shape(), (Shape{3, 2})) << "nothing is trained";
  set_requires_grad(model);
  AdamW optimizer(model, {.lr = 1e-3});
  Tape tape;
  fails("linear",
        {"parameter 'weight' (8, 8) must be prepared by nn::set_requires_grad(model)",
         "if there was a call, name the member in visit"},
        [&] { sum(model(x)); });
  for (Linear& part : model.rest) set_requires_grad(part, false);
  EXPECT_TRUE(sum(model(x)).requires_grad());
}

struct Scaled {
  Linear linear;
  Tensor scale;

  explicit Scaled(const ParameterSource& from)
      : linear(4, 4, from["linear"]), scale(from("scale", {4}, init::constant(1))) {}

  static void visit(auto& self, auto&& visitor) { visitor("linear", self.linear); }
};

TEST(Visit, TheErrorHasTheFullNameOfAnOmittedMember) {
  Rng rng(1);
  const ParameterSource from(rng);
  Scaled model(from["body"]);
  set_requires_grad(model);
  Tape tape;
  const Tensor y = model.linear(randn({2, 4}));
  fails("mul", {"parameter 'body.scale' (4,) must be prepared"}, [&] { y* model.scale; });
  model.scale.set_requires_grad();  // the caller's own variable
  EXPECT_NO_THROW(y * model.scale);
}

TEST(Visit, ANamedParameterStaysNamedInOtherModels) {
  Linear teacher(4, 4);
  set_requires_grad(teacher, false);
  { const Linear view(4, 4, ParameterSource(state_dict(teacher))); }
  Tape tape;
  EXPECT_NO_THROW(teacher(randn({2, 4})));
}

TEST(Visit, ReusedMemoryHasNoParameterName) {
  Tensor other;
  {
    const Linear unnamed(32, 32);
    other = unnamed.weight->detach();
    EXPECT_EQ(other.storage().unnamed_parameter(), "weight");
  }
  EXPECT_EQ(other.storage().unnamed_parameter(), "weight");
  other.storage().mark_named();
  EXPECT_FALSE(other.storage().unnamed_parameter());
  const void* const memory = other.untyped_data();
  { const Linear again(32, 32); }
  other = Tensor();
  for (int i = 0; i < 8; ++i) {
    const Tensor reused = zeros({32, 32});
    EXPECT_FALSE(reused.storage().unnamed_parameter()) << (reused.untyped_data() == memory);
  }
}

struct DuplicateNames {
  Linear first{4, 4}, second{4, 4};

  static void visit(auto& self, auto&& visitor) {
    visitor("linear", self.first);
    visitor("linear", self.second);
  }
};

TEST(Visit, ADuplicateNameIsAnError) {
  DuplicateNames model;
  set_requires_grad(model);
  constexpr const char* kRule =
      "visit must give each parameter its own name, got linear.weight twice";
  fails("state_dict", {kRule}, [&] { state_dict(model); });
  fails("parameters", {kRule}, [&] { parameters(model); });
}

// ---- modules of any type ----

using Map = AnyModule<Tensor(const Tensor&)>;

TEST(AnyModule, IsTheModuleThatItHolds) {
  manual_seed(3);
  const Linear linear(4, 3);
  Map any = linear;
  const Tensor x = randn({2, 4});
  EXPECT_TRUE(same_bits(any(x), linear(x)));
  ASSERT_NE(any.get<Linear>(), nullptr);
  EXPECT_EQ(any.get<Norm>(), nullptr);
  EXPECT_EQ(state_dict(any).size(), 2U);
  Map copy = any;
  EXPECT_TRUE(same_bits(copy.get<Linear>()->weight, linear.weight));
  copy.get<Linear>()->bias.fill(7);
  EXPECT_TRUE(same_bits(any(x), linear(x))) << "copies share parameters";
  Map own = clone(any);
  own.get<Linear>()->bias.fill(9);
  EXPECT_FALSE(same_bits(own(x), any(x)));
  any = Map(tessera::relu);
  EXPECT_TRUE(same_bits(any(x), relu(x)));
  EXPECT_TRUE(state_dict(any).empty());
}

TEST(Sequential, InBracesIsCopied) {
  const Sequential net = {Linear(4, 8), tessera::relu};
  const Sequential copy{net};
  EXPECT_EQ(state_dict(copy).begin()->first, "0.bias");
}

TEST(AnyModule, HasTheModeOfItsModule) {
  Map any = Dropout(0.5);
  EXPECT_TRUE(any.get<Dropout>()->training);
  eval(any);
  EXPECT_FALSE(any.get<Dropout>()->training);
}

TEST(Sequential, AppliesItsPartsInOrder) {
  manual_seed(4);
  Sequential net = {Linear(4, 8), tessera::relu, Linear(8, 2),
                    [](const Tensor& x) { return 2 * x; }};
  std::vector<std::string> names;
  for_each_parameter(net, [&](const std::string& name, Tensor&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  const Tensor x = randn({3, 4});
  const Linear& first = *net.parts[0].get<Linear>();
  const Linear& second = *net.parts[2].get<Linear>();
  EXPECT_TRUE(same_bits(net(x), 2 * second(relu(first(x)))));
  set_requires_grad(net);
  Tape tape;
  tape.backward(sum(net(x)));
  EXPECT_TRUE(first.weight->grad().defined());
}

}  // namespace
}  // namespace tessera::nn
