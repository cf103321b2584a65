#include "models/text/text_file.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& bytes) {
  const TemporaryFolder folder;
  return read_lines(folder.write("f", bytes));
}

TEST(ReadText, ReturnsTheWholeFileWithUnixLineEnds) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) { return read_text(folder.write("f", bytes)); };
  EXPECT_EQ(read("one\ntwo \xe2\x82\xac\n\n"), "one\ntwo \xe2\x82\xac\n\n");
  EXPECT_EQ(read("one\r\ntwo\r\n"), "one\ntwo\n");
  EXPECT_EQ(read("a\rb\r"), "a\rb\r");  // not line ends
  EXPECT_EQ(read("\xef\xbb\xbfone"), "one");
}

TEST(ReadText, RefusesWhatIsNoText) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "must have at least 1 byte, got none"},
      {"\xef\xbb\xbf", "must have at least 1 byte, got none"},
      {"\xff", "line 1, byte 1: must be UTF-8, got '\\xff'"},
      {"ab\ncd\xe9 e\n", "line 2, byte 3: must be UTF-8, got '\\xe9'"},
      {"ab\n\n\xc3\n", "line 3, byte 1: must be UTF-8, got '\\xc3'"}};
  for (const auto& [bytes, error] : faults) {
    EXPECT_EQ(error_of_bytes(bytes, [](const auto& path) { read_text(path); }), error);
  }
  expect_refused([] { read_text("/absent/file"); }, "/absent/file: cannot open");
}

TEST(CleanText, IsReadTextOfBytesFromElsewhere) {
  EXPECT_EQ(clean_text("\xef\xbb\xbfone\r\ntwo", "there"), "one\ntwo");
  EXPECT_EQ(file_error([] { clean_text("a\n\xff", "there"); }),
            "there: line 2, byte 1: must be UTF-8, got '\\xff'");
}

TEST(ReadLines, DropsLineEndsAndNothingElse) {
  EXPECT_EQ(lines_of("a\n\n b \n"), (Lines{"a", "", " b "}));
  EXPECT_EQ(lines_of("a\r\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("\n"), Lines{""});
}

}  // namespace
}  // namespace tessera::text
