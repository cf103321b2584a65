#include "models/text/batches.h"

#include <gtest/gtest.h>

#include "models/text/vocabulary.h"
#include "tests/support/errors.h"

namespace tessera::text {
namespace {

using Ids = std::vector<index_t>;

TEST(MakeBatch, PadsToTheLongestChosen) {
  const std::vector<Example> examples = {
      {{7, 8}, 1}, {{9, 9, 9, 9, 9}, 2}, {{5, 6, 7}, 0}, {{}, 3}};
  const Batch batch = make_batch(examples, Ids{2, 0, 3});
  EXPECT_EQ(batch.tokens.shape(), (Shape{3, 3}));
  constexpr index_t kPad = Vocabulary::kPad;
  EXPECT_EQ(batch.tokens.to_vector<index_t>(), (Ids{5, 6, 7, 7, 8, kPad, kPad, kPad, kPad}));
  EXPECT_EQ(batch.lengths.to_vector<index_t>(), (Ids{3, 2, 0}));
  EXPECT_EQ(batch.labels.to_vector<index_t>(), (Ids{0, 1, 3}));
  EXPECT_EQ(lengths_of(examples), (Ids{2, 5, 3, 0}));
  EXPECT_TRUE(test::throws("make_batch", {"4"}, [&] { make_batch(examples, Ids{4}); }));
  EXPECT_TRUE(test::throws("make_batch", {"-1"}, [&] { make_batch(examples, Ids{-1}); }));
  EXPECT_TRUE(test::throws("make_batch", {"no examples"}, [&] { make_batch(examples, Ids{}); }));
}

}  // namespace
}  // namespace tessera::text
