#include "tessera/models/runs/token_examples.h"

#include "tessera/models/models.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::runs {
namespace {

using models::Tokens;
using test::fails;
using test::same_bits;
using Chosen = std::vector<index_t>;

const Tensor kIds = tensor({{4, 5, 6, 7}, {8, 9, 0, 0}, {3, 0, 0, 0}});
const Tensor kLengths = tensor({4, 2, 1});

TEST(TokenExamples, AreTheChosenRowsCutToTheLongest) {
  const Tokens tokens = {.ids = kIds,
                         .lengths = kLengths,
                         .type_ids = tensor({0, 0, 1, 1}),
                         .positions = tensor({{9, 8, 7, 6}, {5, 4, 3, 2}, {1, 2, 3, 4}})};
  index_t calls = 0;
  const auto per_token = [&](const Tokens& rows, const Tensor& labels) {
    ++calls;
    EXPECT_TRUE(same_bits(rows.ids, tensor({{3, 0}, {8, 9}})));
    EXPECT_TRUE(same_bits(rows.lengths, tensor({1, 2})));
    EXPECT_TRUE(same_bits(rows.type_ids, tensor({{0, 0}, {0, 0}})));
    EXPECT_TRUE(same_bits(rows.positions, tensor({{1, 2}, {5, 4}})));
    EXPECT_TRUE(same_bits(labels, tensor({{13, 10}, {18, 19}})));
    return nn::LossSum{ones({}), 2};
  };
  const nn::Examples examples = examples_of(tokens, kIds + 10, per_token);
  EXPECT_EQ(examples.lengths, (Chosen{4, 2, 1}));
  EXPECT_EQ(examples.loss(Chosen{2, 1}).count, 2);

  const auto per_row = [&](const Tokens& rows, const Tensor& labels) {
    ++calls;
    EXPECT_TRUE(same_bits(rows.ids, tensor({{8, 9, 0, 0}})));
    EXPECT_FALSE(rows.lengths.defined() || rows.type_ids.defined() || rows.positions.defined());
    EXPECT_TRUE(same_bits(labels, tensor({6})));
    return nn::LossSum{ones({}), 1};
  };
  const nn::Examples whole = examples_of({kIds}, tensor({5, 6, 7}), per_row);
  EXPECT_EQ(whole.lengths, Chosen(3, 4));
  EXPECT_EQ(whole.loss(Chosen{1}).count, 1);
  EXPECT_EQ(calls, 2);
}

TEST(TokenExamples, TrainAClassifier) {
  Rng rng(1);
  models::SequenceClassifier model({.token_encoder = test::tiny_tokens(), .num_labels = 2}, rng);
  nn::set_requires_grad(model);
  const auto loss = [&](const Tokens& rows, const Tensor& labels) {
    return nn::summed_cross_entropy(model(rows), labels);
  };
  const nn::Examples examples = examples_of({kIds, kLengths}, tensor({0, 1, 0}), loss);
  nn::AdamW optimizer(model, {.lr = 0.01});
  nn::Trainer(model, optimizer, examples, {.epochs = 40, .batch_size = 2}).train();
  EXPECT_EQ(nn::evaluate(model, examples).accuracy(), 1);
}

TEST(TokenExamples, TheDigestDependsOnTheContents) {
  const Tensor labels = tensor({0, 1, 0});
  const auto digest = [&](const Tokens& tokens) { return examples_of(tokens, labels, {}).digest; };
  const std::set<std::uint64_t> digests = {digest({kIds}),
                                           digest({kIds + 1}),
                                           digest({kIds, kLengths}),
                                           digest({.ids = kIds, .type_ids = kIds}),
                                           digest({.ids = kIds, .positions = kIds}),
                                           examples_of({kIds}, labels + 1, {}).digest};
  EXPECT_EQ(digests.size(), 6U);
  EXPECT_EQ(digest({kIds.clone()}), digest({kIds}));
}

TEST(TokenExamples, Errors) {
  fails("examples_of", "labels must have shape (3,) or (3, 4), got (4,); for other labels", [] {
    examples_of({kIds}, tensor({1, 2, 3, 4}), {});
  });
  fails("examples_of", "got an undefined tensor", [] { examples_of({kIds}, Tensor(), {}); });
  fails("examples_of", "lengths must be from 1 to 4", [] {
    examples_of({kIds, tensor({5, 1, 1})}, tensor({1, 2, 3}), {});
  });
}

}  // namespace
}  // namespace tessera::runs
