#include "models/text/special_tokens.h"

#include "tests/support/test.h"

namespace tessera::text {
namespace {

using Ids = std::vector<index_t>;

TEST(SpecialTokens, AreWhatIsThere) {
  EXPECT_TRUE(SpecialTokens().ids().empty());
  EXPECT_FALSE(SpecialTokens().contains(0));
  const SpecialTokens bert = {.pad = 0, .unknown = 100, .cls = 101, .sep = 102, .mask = 103};
  EXPECT_EQ(bert.ids(), (Ids{0, 100, 101, 102, 103}));
  for (const index_t id : bert.ids()) EXPECT_TRUE(bert.contains(id)) << id;
  for (const index_t id : {-1, 1, 99, 104}) EXPECT_FALSE(bert.contains(id)) << id;
  const SpecialTokens shared = {.cls = 7, .sep = 7, .mask = 3};
  EXPECT_EQ(shared.ids(), (Ids{3, 7}));
  EXPECT_NE(shared, (SpecialTokens{.cls = 7, .mask = 3}));
}

}  // namespace
}  // namespace tessera::text
