#include "tessera/tensor/error.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

TEST(Escaped, LeavesWhatCanBePrinted) {
  for (const char* text : {"", "plain", "é", "中文 🙂", "\\x1b", "naïve\u00a0café", "\u200d"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(Escaped, SpellsControlCharactersAndBytesThatAreNotUtf8) {
  EXPECT_EQ(escaped(std::string("a\x1b[2J\0\x7f\n", 8)), "a\\x1b[2J\\x00\\x7f\\x0a");
  EXPECT_EQ(escaped("\xff\xc3"), "\\xff\\xc3");                                  // no UTF-8
  EXPECT_EQ(escaped("\u0085é\u009f"), "\\xc2\\x85é\\xc2\\x9f");                  // C1
  EXPECT_EQ(escaped("a\u2028b"), "a\\xe2\\x80\\xa8b");                           // ends a line
  EXPECT_EQ(escaped("\u202egnp.\u2066"), "\\xe2\\x80\\xaegnp.\\xe2\\x81\\xa6");  // right to left
  EXPECT_EQ(escaped(escaped("\x1bé")), escaped("\x1bé"));
}

TEST(Printable, QuotesAndCutsBetweenCharacters) {
  EXPECT_EQ(printable("plain"), "'plain'");
  EXPECT_EQ(printable(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
  EXPECT_EQ(printable(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(printable(std::string(79, 'x') + "é"), "'" + std::string(79, 'x') + "...'");
}

TEST(FailFile, EscapesTheFilesName) {
  EXPECT_EQ(test::file_error([] { fail_file("é\x1b\n", "not found"); }), "é\\x1b\\x0a: not found");
}

}  // namespace
}  // namespace tessera
