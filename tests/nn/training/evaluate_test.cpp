// Rows of tensors as examples.
#include "nn/training/evaluate.h"

#include "nn/dropout.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
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

}  // namespace
}  // namespace tessera::test
