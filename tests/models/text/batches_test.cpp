#include "models/text/batches.h"

#include "tests/support/test.h"

namespace tessera::text {
namespace {

using Ids = std::vector<index_t>;

TEST(MakeBatch, PadsToTheLongestChosen) {
  const std::vector<Example> examples = {
      {{7, 8}, 1}, {{9, 9, 9, 9, 9}, 2}, {{5, 6, 7}, 0}, {{}, 3}};
  const Batch batch = make_batch(examples, Ids{2, 0, 3}, 4);
  EXPECT_EQ(batch.ids.shape(), (Shape{3, 3}));
  EXPECT_EQ(batch.ids.to_vector<index_t>(), (Ids{5, 6, 7, 7, 8, 4, 4, 4, 4}));
  EXPECT_EQ(batch.lengths.to_vector<index_t>(), (Ids{3, 2, 0}));
  EXPECT_EQ(batch.labels.to_vector<index_t>(), (Ids{0, 1, 3}));
  EXPECT_EQ(lengths_of(examples), (Ids{2, 5, 3, 0}));
  EXPECT_TRUE(test::throws("make_batch", {"4"}, [&] { make_batch(examples, Ids{4}); }));
  EXPECT_TRUE(test::throws("make_batch", {"-1"}, [&] { make_batch(examples, Ids{-1}); }));
  EXPECT_TRUE(test::throws("make_batch", {"examples must be at least 1"},
                           [&] { make_batch(examples, Ids{}); }));
}

TEST(MakeBatch, HasTheLabelsThatTheExamplesHave) {
  const std::vector<Example> plain = {{.ids = {5, 6}}, {.ids = {7}}};
  EXPECT_FALSE(make_batch(plain, Ids{0, 1}).labels.defined());
  EXPECT_FALSE(make_batch(plain, Ids{0, 1}).types.defined());
  EXPECT_EQ(make_batch(plain, Ids{0, 1}).ids.to_vector<index_t>(), (Ids{5, 6, 7, 0}));

  const std::vector<Example> tagged = {
      {{5, 6}, Ids{1, 2}}, {{7}, Ids{kIgnoreIndex}}, {{8, 9, 4}, Ids{0, 0, 3}}};
  const Batch tags = make_batch(tagged, Ids{1, 0, 2});
  EXPECT_EQ(tags.labels.shape(), (Shape{3, 3}));
  constexpr index_t kNo = kIgnoreIndex;
  EXPECT_EQ(tags.labels.to_vector<index_t>(), (Ids{kNo, kNo, kNo, 1, 2, kNo, 0, 0, 3}));

  const std::vector<Example> values = {{{5}, 0.5}, {{6}, -2.0}};
  const Batch targets = make_batch(values, Ids{0, 1});
  EXPECT_EQ(targets.labels.dtype(), kFloat32);
  EXPECT_EQ(targets.labels.to_vector<float>(), (std::vector<float>{0.5F, -2.0F}));
}

TEST(MakeBatch, PadsTypesWithZeros) {
  const std::vector<Example> examples = {{{5, 6, 7}, 0, {0, 1, 1}}, {{8}, 0}};
  EXPECT_EQ(make_batch(examples, Ids{0, 1}).types.to_vector<index_t>(), (Ids{0, 1, 1, 0, 0, 0}));
  EXPECT_FALSE(make_batch(examples, Ids{1}).types.defined());
}

TEST(MakeBatch, RefusesExamplesThatDoNotFit) {
  const auto refuses = [](const std::string& part, const std::vector<Example>& examples) {
    EXPECT_TRUE(test::throws("make_batch", {part}, [&] { make_batch(examples, Ids{0, 1}); }));
  };
  refuses("labels must be of one kind, got different kinds in the examples 0 and 1",
          {{{5}, 1}, {{6}, 1.0}});
  refuses("must be of one kind", {{{5}, 1}, {{6}}});
  refuses("must be of one kind", {{{5}, 1}, {{6}, Ids{1}}});
  refuses("example 1 must have a label for each token, got 1 labels for 2 tokens",
          {{{5}, Ids{1}}, {{6, 7}, Ids{1}}});
  refuses("example 1 must have a type for each token, got 2 types for 1 tokens",
          {{{5}}, {{6}, {}, {0, 0}}});
}

TEST(ClassOf, IsTheNumberOfAText) {
  EXPECT_EQ(class_of({{5}, 3}), 3);
  for (const Label& label : {Label(), Label(2.0), Label(Ids{3})}) {
    EXPECT_TRUE(test::throws("class_of", {"must be a class, got"}, [&] {
      class_of({{5}, label});
    }));
  }
}

}  // namespace
}  // namespace tessera::text
