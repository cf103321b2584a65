// Rows of tensors as examples.
#include "tessera/nn/training/evaluate.h"

#include "tessera/nn/dropout.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/errors.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

TEST(ExamplesOf, AreTheChosenRows) {
  const Tensor x = arange(12).reshape({4, 3}), y = arange(4) * 10;
  const auto loss = [](const Tensor& rows, const Tensor& targets) {
    EXPECT_EQ(rows.to_vector<index_t>(), (std::vector<index_t>{9, 10, 11, 3, 4, 5}));
    EXPECT_EQ(targets.to_vector<index_t>(), (std::vector<index_t>{30, 10}));
    return nn::LossSum{ones({}), 2, 1};
  };
  const nn::Examples examples = nn::examples_of(x, y, loss);
  EXPECT_EQ(examples.lengths, std::vector<index_t>(4, 1));
  EXPECT_EQ(examples.loss(std::vector<index_t>{3, 1}).count, 2);
  EXPECT_TRUE(throws("examples_of", {"same number of rows", "(4, 3)", "(3,)"},
                     [&] { nn::examples_of(x, y.slice(0, 1), loss); }));
}

TEST(Evaluate, AConstModelMustBeInEvalMode) {
  nn::Dropout model;
  const nn::Dropout& same = model;
  EXPECT_TRUE(
      throws("evaluate", {"const model must be in eval mode"}, [&] { nn::EvalScope{same}; }));
  nn::eval(model);
  const nn::EvalScope scope(same);
  const nn::Dropout inactive(0);
  const nn::EvalScope unchanged(inactive);
}

struct ForgottenDropout {
  nn::Dropout dropout;
  Tensor operator()(const Tensor& x) const { return dropout(x); }
  static void visit(auto&, auto&&) {}
};

struct NamedDropout {
  nn::Dropout dropout;
  Tensor operator()(const Tensor& x) const { return dropout(x); }
  static void visit(auto& self, auto&& visitor) { visitor("dropout", self.dropout); }
};

TEST(Evaluate, AnActiveDropoutIsAnError) {
  const auto examples_with = [](const auto& model) {
    return nn::Examples{{1, 1}, [&](std::span<const index_t>) {
                          return nn::LossSum{sum(model(ones({4}))), 1};
                        }};
  };
  const auto error =
      "Dropout: the module must be in eval mode within evaluate(), got training mode";
  ForgottenDropout forgotten;
  EXPECT_TRUE(
      throws("Dropout", {error}, [&] { nn::evaluate(forgotten, examples_with(forgotten)); }));
  NamedDropout model;
  const NamedDropout copy = model;
  EXPECT_TRUE(
      throws("Dropout", {"not a copy of it"}, [&] { nn::evaluate(model, examples_with(copy)); }));
  EXPECT_EQ(nn::evaluate(model, examples_with(model)).loss, 4);
  EXPECT_NO_THROW(copy(ones({4})));  // only in an evaluation
}

}  // namespace
}  // namespace tessera::test
