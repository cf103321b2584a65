// The numbered examples print the same as their notebooks, or as NumPy for the formulas, and their
// pages show this output and these pictures.
//
// notebooks/NNN_name.txt has the arrays that the program NNN_name must print, in this order, each
// on its own lines and exactly equal, so every number to its last printed digit. Blank lines
// separate them; other output of the program is not checked.
#include <cctype>
#include <regex>

#include "tessera/tensor/error.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

const std::string kRoot = TESSERA_SOURCE_DIR;

std::string read_file(const std::string& path) {
  std::string text = file_text(path);
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

/// The names of the files NNN_*.extension of a folder, without the extension, in their order.
std::vector<std::string> numbered(const std::string& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kRoot + '/' + folder)) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() == extension && std::isdigit(name[0])) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// A numbered program.
class Numbered : public Programs, public ::testing::WithParamInterface<std::string> {};

/// The blocks of lines between blank lines, without those that start with '#'.
std::vector<std::string> cells_of(const std::string& text) {
  std::vector<std::string> cells;
  std::istringstream lines(text);
  std::string cell;
  const auto finish = [&] {
    if (!cell.empty()) cells.push_back(cell);
    cell.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      finish();
    } else if (!line.starts_with('#')) {
      cell += line + '\n';
    }
  }
  finish();
  return cells;
}

using NotebookTest = Numbered;

TEST_P(NotebookTest, IsPrinted) {
  const std::string output = '\n' + output_of(GetParam(), "");
  const std::vector<std::string> cells =
      cells_of(read_file(kRoot + "/tests/programs/notebooks/" + GetParam() + ".txt"));
  ASSERT_GE(cells.size(), 10u);
  std::size_t position = 0;  // of the line break before the rest of the output
  for (const std::string& cell : cells) {
    const std::size_t found = output.find('\n' + cell, position);
    ASSERT_NE(found, std::string::npos) << "missing:\n"
                                        << cell << "in the rest of the output:\n"
                                        << output.substr(position + 1);
    position = found + cell.size();
  }
}

INSTANTIATE_TEST_SUITE_P(All, NotebookTest,
                         ::testing::ValuesIn(numbered("tests/programs/notebooks", ".txt")),
                         [](const auto& test) { return test.param; });

#if !defined(TESSERA_SANITIZED)  // half a minute there; the trainer's own tests run the same code
/// The text between two others.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  EXPECT_NE(begin, std::string::npos) << before;
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find(after, begin);
  return text.substr(begin + before.size(), end - begin - before.size());
}

// The loop by hand and the trainer print the same, and so do a step by hand and the optimiser.
TEST_F(Programs, ByHandAndByTheTrainerAModelLearnsTheSame) {
  const std::string output = output_of("014_a_model_learns", "");
  const std::string by_hand = between(output, "the mean loss\n", "\n\n");
  EXPECT_TRUE(contains(by_hand, "epoch 8, loss 0.")) << output;
  EXPECT_EQ(between(output, ".train()\n", "\n\n"), by_hand) << output;
  const std::size_t right = output.rfind("unseen rows: ");
  ASSERT_NE(right, std::string::npos);
  EXPECT_GT(std::stod(output.substr(right + 13)), 0.9) << output;
  std::istringstream step(between(output, "optimizer.step()\n", "\n\n"));
  std::string before, hand, library;
  std::getline(step, before);
  std::getline(step, hand);
  std::getline(step, library);
  EXPECT_NE(before, hand) << output;
  EXPECT_EQ(hand, library) << output;
}
#endif

/// The blocks of a page that show a program's output and begin with `start`.
std::vector<std::string> shown_in(const std::string& page, const std::string& start) {
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = page.find(start, at)) != std::string::npos;) {
    at += start.size();
    const std::size_t end = page.find("```", at);
    blocks.push_back(page.substr(at, end - at));
    at = end;
  }
  return blocks;
}

/// The line above a block of a lesson's page that its program prints; other blocks are formulas.
const std::string kPrinted = "<!-- printed -->\n```text\n";

/// Pictures that no program draws.
const std::set<std::string> kDrawnByHand = {"006_layer.svg", "015_steps.svg", "016_scores.svg",
                                            "017_registers.svg", "018_sums.svg"};

/// The pictures that a page shows and its program draws.
std::set<std::string> pictures_of(const std::string& page) {
  std::set<std::string> names;
  const std::regex picture("\\(pictures/(\\w+[.]svg)\\)");
  for (std::sregex_iterator at(page.begin(), page.end(), picture), end; at != end; ++at) {
    if (!kDrawnByHand.contains((*at)[1])) names.insert((*at)[1]);
  }
  return names;
}

// examples/course/NNN_name.md is the page of the program NNN_name, which draws its pictures into a
// folder.
using LessonPageTest = Numbered;

TEST_P(LessonPageTest, ShowsWhatTheLessonPrintsAndDraws) {
  const std::string page = read_file(kRoot + "/examples/course/" + GetParam() + ".md");
  fs::create_directory(folder_ / "pictures");
  const std::string output = output_of(GetParam(), "pictures");
  const std::vector<std::string> blocks = shown_in(page, kPrinted);
  EXPECT_FALSE(blocks.empty());
  for (const std::string& block : blocks) {
    EXPECT_TRUE(contains(output, block)) << "the page shows\n"
                                         << block << "but its program prints\n"
                                         << output;
  }
  std::set<std::string> drawn;
  for (const auto& entry : fs::directory_iterator(folder_ / "pictures")) {
    const std::string name = entry.path().filename();
    drawn.insert(name);
    EXPECT_TRUE(contains(output, "wrote pictures/" + name));
    EXPECT_TRUE(read_file(entry.path()) == read_file(kRoot + "/examples/course/pictures/" + name))
        << "build/release/examples/" << GetParam() << " examples/course/pictures  draws " << name
        << " again";
  }
  EXPECT_EQ(drawn, pictures_of(page));
}

INSTANTIATE_TEST_SUITE_P(All, LessonPageTest,
                         ::testing::ValuesIn(numbered("examples/course", ".md")),
                         [](const auto& test) { return test.param; });

TEST(LessonTest, TheTapeHas60Lines) {
  const std::string code = read_file(kRoot + "/examples/course/011_a_tape_in_60_lines.cpp");
  const std::size_t begin = code.find("// ---- the tape ----");
  const std::size_t end = code.find("// ---- compared", begin);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  EXPECT_LE(std::count(code.begin() + static_cast<std::ptrdiff_t>(begin),
                       code.begin() + static_cast<std::ptrdiff_t>(end), '\n'),
            60);
}

}  // namespace
}  // namespace tessera::test
