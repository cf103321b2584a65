#include "models/pages/rows.h"

#include "tests/support/test.h"

namespace tessera::pages {
namespace {

const Rows kRows = {{"name", "n"}, {"a, b", ""}, {"\"c\"", "12.5"}};

TEST(Rows, AreAlignedForATerminal) {
  EXPECT_EQ(table_text(kRows), "name     n\na, b     -\n\"c\"   12.5\n");
  EXPECT_EQ(table_text({}), "");
}

TEST(Rows, AreCsv) {
  EXPECT_EQ(csv_text(kRows), "name,n\n\"a, b\",\n\"\"\"c\"\"\",12.5\n");
  EXPECT_EQ(csv_text({{"two\nlines"}}), "\"two\nlines\"\n");
}

}  // namespace
}  // namespace tessera::pages
