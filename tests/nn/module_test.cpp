#include "tessera/nn/module.h"

#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// A module of every kind of member: parameter, absent parameter, module, vector and optional.
struct Sample {
  Tensor scale = ones({3});
  Tensor absent;
  Linear first{3, 2};
  std::vector<Linear> stack = {Linear(2, 2),
                               Linear({.in_features = 2, .out_features = 4, .bias = false})};
  std::optional<Linear> last;
  Dropout drop{0.5};
  std::vector<Dropout> drops = {Dropout(0.5), Dropout(0.5)};

  static void visit(auto& self, auto&& visitor) {
    visitor("scale", self.scale);
    visitor("absent", self.absent);
    visitor("first", self.first);
    visitor("stack", self.stack);
    visitor("last", self.last);
    visitor("drop", self.drop);
    visitor("drops", self.drops);
  }
};

TEST(Module, ParametersAreVisitedInOrderByTheirFullNames) {
  Sample sample;
  sample.last.emplace(4, 1);
  std::vector<std::string> names;
  for_each_parameter(sample, [&](const std::string& name, Tensor&) { names.push_back(name); });
  EXPECT_EQ(names, (std::vector<std::string>{"scale", "first.weight", "first.bias",
                                             "stack.0.weight", "stack.0.bias", "stack.1.weight",
                                             "last.weight", "last.bias"}));
  sample.last.reset();
  EXPECT_EQ(state_dict(sample).size(), 6U);
}

TEST(Module, TheStateSharesMemory) {
  Sample sample;
  StateDict state = state_dict(sample);
  state.at("first.bias").fill(7);
  EXPECT_TRUE(same_bits(sample.first.bias, full({2}, 7)));
}

TEST(Module, LoadingCopiesAndConverts) {
  Sample from;
  Sample to;
  from.scale.fill(0.5);
  StateDict state = state_dict(from);
  for (auto& [name, tensor] : state) tensor = tensor.to(kFloat64);
  const Tensor before = to.first.weight;
  load_state_dict(to, state);
  EXPECT_TRUE(before.storage() == to.first.weight->storage());  // in place: other handles see it
  for (const auto& [name, tensor] : state_dict(to)) {
    EXPECT_EQ(tensor.dtype(), kFloat32) << name;
    EXPECT_TRUE(same_bits(tensor, state_dict(from).at(name))) << name;
    EXPECT_FALSE(tensor.storage() == state_dict(from).at(name).storage()) << name;
  }
}

TEST(Module, LoadingWhatDoesNotFitChangesNothing) {
  Sample sample;
  const auto snapshot = [&] {
    StateDict copy;
    for (const auto& [name, tensor] : state_dict(sample)) copy.emplace(name, tensor.clone());
    return copy;
  };
  const StateDict before = snapshot();
  StateDict other;
  for (const auto& [name, tensor] : before) other.emplace(name, full(tensor.shape(), 9));
  const auto expect_error = [&](const std::vector<std::string>& parts, const StateDict& state) {
    fails("load_state_dict", parts, [&] { load_state_dict(sample, state); });
    for (const auto& [name, tensor] : state_dict(sample)) {
      EXPECT_TRUE(same_bits(tensor, before.at(name))) << name;
    }
  };
  StateDict missing = other;
  missing.erase("stack.0.bias");
  expect_error({"missing: stack.0.bias (2,)"}, missing);
  StateDict unexpected = other;
  unexpected.emplace("stack.1.bias", zeros({4}));
  expect_error({"unexpected: stack.1.bias (4,)"}, unexpected);
  StateDict hostile = other;  // a name with a terminal command
  hostile.emplace("\x1b[2J", zeros({4}));
  expect_error({"unexpected: \\x1b[2J (4,)"}, hostile);
  StateDict reshaped = other;
  reshaped.at("first.weight") = zeros({3, 2});
  expect_error({"first.weight", "(2, 3)", "(3, 2)"}, reshaped);
  StateDict broadcastable = other;  // not even if the shapes broadcast
  broadcastable.at("first.bias") = zeros({1});
  expect_error({"first.bias", "(2,)", "(1,)"}, broadcastable);
  StateDict all = missing;
  all.emplace("new", zeros({1}));
  all.at("scale") = zeros({4});
  expect_error({"missing: stack.0.bias", "unexpected: new", "scale", "(3,)", "(4,)"}, all);
  expect_error({"missing: first.weight"}, {});
  {
    Tape tape;
    StateDict variable = other;
    variable.at("stack.1.weight").set_requires_grad();
    expect_error({"stack.1.weight of the state must not be a variable"}, variable);
    variable.at("stack.1.weight").set_requires_grad(false);
    set_requires_grad(sample.first);
    const Tensor loss = sum(sample.first(ones({1, 3})));
    fails("load_state_dict", "first.weight must not change while a tape has recorded ops",
          [&] { load_state_dict(sample, other); });
    EXPECT_TRUE(same_bits(sample.scale, before.at("scale")));
    set_requires_grad(sample, false);
  }
  load_state_dict(sample, other);
  EXPECT_TRUE(same_bits(sample.scale, full({3}, 9)));
}

TEST(Module, CountsParameters) {
  EXPECT_EQ(parameter_count(Sample()), 3 + (6 + 2) + (4 + 2) + 8);
  EXPECT_EQ(parameter_count(Dropout()), 0);
}

TEST(Module, TrainAndEvalReachEveryPart) {
  Sample sample;
  const auto expect_training = [&](bool training) {
    EXPECT_EQ(sample.drop.training, training);
    for (const Dropout& drop : sample.drops) EXPECT_EQ(drop.training, training);
  };
  expect_training(true);
  eval(sample);
  expect_training(false);
  train(sample);
  expect_training(true);
  set_training(sample, false);
  expect_training(false);
}

TEST(Module, ConvertsEveryParameter) {
  Sample sample;
  const Tensor shared = sample.scale;
  convert(sample, kFloat64);
  for (const auto& [name, tensor] : state_dict(sample)) EXPECT_EQ(tensor.dtype(), kFloat64) << name;
  EXPECT_EQ(shared.dtype(), kFloat32);
  EXPECT_FALSE(sample.absent.defined());
}

TEST(Module, ParametersBecomeVariablesAndStayThem) {
  Sample sample;
  const auto all_are = [&](bool wanted) {
    for (const auto& [name, tensor] : state_dict(sample)) {
      EXPECT_EQ(tensor.requires_grad(), wanted) << name;
    }
  };
  all_are(false);
  set_requires_grad(sample);
  all_are(true);
  convert(sample, kFloat64);
  all_are(true);
  set_requires_grad(sample, false);
  all_are(false);
}

/// Two parameters that are one, and a constant.
struct Tied {
  Linear first{3, 3};
  Linear second{3, 3};
  Buffer table{arange(3).to(kFloat64) / 3};

  Tied() { second.weight = first.weight; }

  static void visit(auto& self, auto&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
    visitor("table", self.table);
  }
};

static_assert(Module<Tied> && Module<const Linear>);
static_assert(!Module<Tensor> && !Module<int> && !Module<std::vector<Linear>>);

TEST(Module, AnErrorChangesNothing) {
  Sample sample;
  prepack(sample.stack[1]);
  fails("stack.1.weight", "prepacked", [&] { convert(sample, kFloat64); });
  EXPECT_EQ(sample.scale.dtype(), kFloat32);
  fails("stack.1.weight", "prepacked", [&] { set_requires_grad(sample); });
  EXPECT_FALSE(sample.scale.requires_grad());
}

TEST(Module, ConvertKeepsWhatIsTied) {
  Tied module;
  convert(module, kFloat64);
  EXPECT_TRUE(module.first.weight->storage() == module.second.weight->storage());
  set_requires_grad(module);
  module.second.weight = module.first.weight;
  convert(module, kFloat32);
  EXPECT_EQ(module.first.weight->grad_slot(), module.second.weight->grad_slot());
  EXPECT_TRUE(module.first.weight->requires_grad());
  fails("convert", "int64", [&] { convert(module, kInt64); });
}

TEST(Module, ACloneHasParametersOfItsOwn) {
  Tied module;
  set_requires_grad(module.first);
  module.second.weight = module.first.weight;
  Tape tape;
  tape.backward(sum(module.first(ones({1, 3}))));
  const Tied copy = clone(module);
  EXPECT_FALSE(copy.first.weight->grad().defined());
  for (const auto& [name, tensor] : state_dict(copy)) {
    const Tensor original = state_dict(module).at(name);
    EXPECT_TRUE(same_bits(tensor.detach(), original.detach())) << name;
    EXPECT_EQ(tensor.requires_grad(), original.requires_grad()) << name;
    EXPECT_FALSE(tensor.storage() == original.storage()) << name;
    EXPECT_TRUE(!tensor.requires_grad() || tensor.grad_slot() != original.grad_slot()) << name;
  }
  EXPECT_TRUE(copy.first.weight->storage() == copy.second.weight->storage());
  module.first.weight->detach().fill(7);
  EXPECT_NE(copy.first.weight->detach().item_at({0, 0}), 7);
}

TEST(Module, ACloneTrainsOrNotAsTheModule) {
  Sample sample;
  eval(sample.drop);
  const Sample copy = clone(sample);
  EXPECT_FALSE(copy.drop.training);
  EXPECT_TRUE(copy.drops[0].training);
  EXPECT_FALSE(copy.last.has_value());
  EXPECT_FALSE(copy.absent.defined());
}

TEST(Module, AVectorOfModulesHasNamesToo) {
  std::vector<Linear> stack = {Linear(2, 2), Linear(2, 2)};
  EXPECT_TRUE(state_dict(stack).contains("1.weight"));
}

}  // namespace
}  // namespace tessera::nn
