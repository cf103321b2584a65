#include "models/pages/rows.h"

#include "tests/support/test.h"

namespace tessera::pages {
namespace {

const Rows kRows = {{"name", "n"}, {"a", ""}, {"b", "12.5"}};

TEST(Rows, AreAlignedForATerminal) {
  EXPECT_EQ(table_text(kRows), "name     n\na        -\nb     12.5\n");
  EXPECT_EQ(table_text({}), "");
}

}  // namespace
}  // namespace tessera::pages
