// Every case of golden/elementwise.npz: what PyTorch's elementwise functions and their gradients are,
// special values among them, in float32 and float64.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/autograd/tape.h"
#include "tensor/error.h"
#include "tensor/io/npz.h"
#include "tensor/ops/ops.h"
#include "tests/support/oracle.h"

namespace tessera::test {
namespace {

using Operands = std::vector<Tensor>;
using TensorFunction = std::function<Tensor(const Operands&)>;

template <class F>
TensorFunction of_one(const F& f) {
  return [=](const Operands& in) { return f(in[0]); };
}

template <class F>
TensorFunction of_two(const F& f) {
  return [=](const Operands& in) { return f(in[0], in[1]); };
}

std::map<std::string, TensorFunction> functions() {
  using T = const Tensor&;
  return {{"sin", of_one(tessera::sin)},
          {"cos", of_one(tessera::cos)},
          {"expm1", of_one(tessera::expm1)},
          {"log1p", of_one(tessera::log1p)},
          {"rsqrt", of_one(tessera::rsqrt)},
          {"floor", of_one(tessera::floor)},
          {"ceil", of_one(tessera::ceil)},
          {"round", of_one(tessera::round)},
          {"sign", of_one(tessera::sign)},
          {"silu", of_one(tessera::silu)},
          {"softplus", of_one([](T x) { return softplus(x); })},
          {"softplus_sharp", of_one([](T x) { return softplus(x, 2.5, 3); })},
          {"leaky_relu", of_one([](T x) { return leaky_relu(x); })},
          {"leaky_relu_slope", of_one([](T x) { return leaky_relu(x, 0.25); })},
          {"clamp", of_one([](T x) { return clamp(x, -1, 2); })},
          {"clamp_least", of_one([](T x) { return clamp(x, 0.5); })},
          {"clamp_most", of_one([](T x) { return clamp(x, {}, 0.5); })},
          {"clamp_crossed", of_one([](T x) { return clamp(x, 2, -1); })},
          {"maximum", of_two([](T a, T b) { return maximum(a, b); })},
          {"minimum", of_two([](T a, T b) { return minimum(a, b); })},
          {"pow", of_two([](T a, T b) { return pow(a, b); })},
          {"pow_special", of_two([](T a, T b) { return pow(a, b); })}};
}

using ElementwiseParityTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseParityTest, each_isa(), isa_name);

TEST_P(ElementwiseParityTest, EveryCase) {
  const std::map<std::string, Tensor> arrays = load_npz(TESSERA_GOLDEN_DIR "/elementwise.npz");
  std::set<std::string> cases;
  for (const auto& [entry, value] : arrays) cases.insert(entry.substr(0, entry.find('.')));
  const auto known = functions();
  EXPECT_EQ(cases.size(), known.size());
  for (const std::string& name : cases) {
    ASSERT_TRUE(known.contains(name)) << "no function for the case " << name;
    for (const DType dtype : {kFloat32, kFloat64}) {
      const double allowed = dtype == kFloat32 ? 1e-5 : 1e-12;
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      Operands operands;
      for (const char* operand : {".input", ".other"}) {
        const auto found = arrays.find(name + operand);
        if (found == arrays.end()) continue;
        operands.push_back(found->second.to(dtype).set_requires_grad());
      }
      Tape tape;
      const Tensor y = known.at(name)(operands);
      EXPECT_TRUE(near(y, array(arrays.at(name + ".output")), allowed, allowed));
      tape.backward(sum(y * arrays.at(name + ".weights").to(dtype)));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const char* entry = i == 0 ? ".dinput" : ".dother";
        EXPECT_TRUE(near(operands[i].grad(), array(arrays.at(name + entry)), allowed, allowed))
            << entry;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
