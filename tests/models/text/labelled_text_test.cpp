#include "models/text/labelled_text.h"

#include <gtest/gtest.h>

#include "tests/support/file_support.h"

namespace tessera::text {
namespace {

using test::file_error;
using test::TemporaryFolder;
using Lines = std::vector<std::string>;

/// The error of reading labelled lines, without the file's name in front.
std::string error_of(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("f", bytes);
  const std::string text = file_error([&] { read_labelled_lines(path); });
  EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
  return text.substr(std::min(text.size(), path.string().size() + 2));
}

TEST(ReadLabelledLines, CutsAtTheFirstTab) {
  const TemporaryFolder folder;
  const auto examples = read_labelled_lines(folder.write("f", "A\tone two\r\nB b\tx\ty\n"));
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].label, "A");
  EXPECT_EQ(examples[0].text, "one two");
  EXPECT_EQ(examples[1].label, "B b");
  EXPECT_EQ(examples[1].text, "x\ty");
}

TEST(ReadLabelledLines, NamesTheLineThatIsWrong) {
  EXPECT_EQ(error_of("A\tx\nno tab\n"),
            "line 2: no tab; wanted a label, a tab and a text, not 'no tab'");
  EXPECT_EQ(error_of("A\tx\n\nA\ty"), "line 2: empty; wanted a label, a tab and a text");
  EXPECT_EQ(error_of("A\tx\r\n\r\n"), "line 2: empty; wanted a label, a tab and a text");
  EXPECT_EQ(error_of("A\tx\nLOC\t\n"), "line 2, byte 5: no text after the label 'LOC'");
  EXPECT_EQ(error_of("LOC\t \t\n"), "line 1, byte 5: no text after the label 'LOC'");
  EXPECT_EQ(error_of("\ttext\n"), "line 1, byte 1: no label before the tab");
  EXPECT_LE(error_of(std::string(10000, 'x')).size(), 512u);
}

TEST(Labels, AreNumberedInTheirOrder) {
  const std::vector<LabelledText> examples = {{"b", "x"}, {"a", "x"}, {"b", "x"}, {"C", "x"}};
  const Lines labels = distinct_labels(examples);
  EXPECT_EQ(labels, (Lines{"C", "a", "b"}));
  EXPECT_EQ(label_numbers(examples, labels, "f"), (std::vector<index_t>{2, 1, 2, 0}));
  EXPECT_EQ(file_error([&] {
              label_numbers(examples, {"a", "b"}, "test.tsv");
            }),
            "test.tsv: line 4: unknown label 'C'; known are 'a, b'");
}

}  // namespace
}  // namespace tessera::text
