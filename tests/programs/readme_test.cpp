// Every code block of every page: C++ is compiled (readme_blocks.cpp) and run, commands are run,
// and all other blocks are marked as such.
#include <cstring>
#include <iostream>
#include <regex>

#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/programs/readme_blocks.h"
#include "tests/support/markdown.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

struct NotRun {
  const char* begins;  // a regular expression for the beginning of a command or of a block of C++
  const char* reason;
};

/// Blocks that are not run here: commands, and C++ that is only compiled. Commands that configure,
/// build or test the project have been run before this test, or are run by .ci/run.
const std::vector<NotRun> kNotRun = {
    {"\\.ci/", "installs packages and builds; .ci/run does"},
    {"cmake ", "builds; .ci/run does"},
    {"ctest ", "runs this test"},
    {"git clone ", "needs the network and git-lfs"},
    {"mpirun ", "needs MPI; processes_test.cpp runs programs on it"},
    {"npm install ", "needs the network"},
    {"NODE_PATH=\\S+ node tests/golden/", "writes golden files anew, with the tokenizers library"},
    {"/usr/bin/python3 tests/", "writes golden files anew, with PyTorch"},
    {"(\\w+=\\S+ )*build/release/bench/tessera_\\w+", "takes minutes"},
    {"build/release/tests/\\w+_test", "ctest runs it"},
    {"tests/fuzz/run ", ".ci/run does"},
    {"build/fuzz/", "wants a finding"},
};

/// Options that shorten long trainings here.
const std::vector<std::pair<const char*, const char*>> kShortened = {
    {"build/release/examples/train_reverse", " --max-steps 2"},
    {"build/release/examples/train_masked_lm", " --max-steps 2 --width 16 --heads 2"},
    {"build/release/examples/fine_tune", " --epochs 1"},
};

const std::set<std::string> kKinds = {"cpp", "cpp declarations", "sh", "text", "cmake", "python"};

const fs::path kRoot = TESSERA_SOURCE_DIR;

TEST(Readme, EveryBlockIsOfAKindThatIsTested) {
  int count = 0;
  for (const Block& block : all_blocks(kRoot)) {
    ++count;
    EXPECT_TRUE(kKinds.contains(block.kind))
        << block.place() << ": a block '" << block.kind
        << "': fence it, as cpp, cpp declarations, sh, text, cmake or python";
    if (block.kind == "cmake") {
      EXPECT_EQ(block.file, "README.md") << "only this page's is tested, by consumer.readme";
    }
  }
  EXPECT_GT(count, 40);
}

/// The block of text below a block, which shows what that block prints: right below it, or marked as
/// printed. Null if there is none.
const Block* shown_below(const std::vector<Block>& blocks, const std::string& place) {
  const auto block = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const Block& each) { return each.place() == place; });
  if (block == blocks.end() || block + 1 == blocks.end()) return nullptr;
  const Block& next = block[1];
  const auto end = block->line + 1 + std::count(block->text.begin(), block->text.end(), '\n');
  const bool is_shown = next.is_printed || next.line == end + 2;
  return is_shown && next.file == block->file && next.kind == "text" ? &next : nullptr;
}

/// The lines of an output without the parts that depend on the model, which is small here: numbers
/// and the order of lines.
std::multiset<std::string> form_of(const std::string& text) {
  const std::regex number(" *-?[0-9]+[.]?[0-9]* *");
  std::istringstream in(std::regex_replace(text, number, "0 "));
  std::multiset<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

/// A folder with the inputs of the pages' commands.
class ReadmeCommands : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    fill();
  }

  /// Restores the original folder for a new page.
  void start_page(std::string& page, const std::string& next) const {
    if (page == next) return;
    page = next;
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
    fill();
  }

  void fill() const {
    const std::vector<std::pair<const char*, const char*>> folders = {
        {"sentence", "all-MiniLM-L6-v2"},
        {"reranker", "ms-marco-MiniLM-L6-v2"},
        {"bert", "bert-base-NER"},
        {"bert", "bert-base-uncased"},
        {"bert", "distilbert-sst-2"}};
    for (const auto& [from, to] : folders) {
      fs::copy(golden_folder(from), folder_ / to, fs::copy_options::recursive);
    }
    copy_for_questions(folder_ / "bert-base-cased-squad2");
    write("lines.txt", "the cat sat on a mat .\nthe city is old .\n");
    std::string lines, text;
    for (int i = 0; i < 20; ++i) {
      lines += "animal\tthe cat sat on a mat .\nplace\tthe city is old .\n";
      text += "To be, or not to be: that is the question.\n";
    }
    write("train.tsv", lines);
    write("test.tsv", lines);
    write("text.txt", text);
  }

  /// Runs one line of a page.
  void run_line(const Block& block, const std::string& line) const {
    std::string command = line;
    for (const auto& [program, options] : kShortened) {
      if (line.starts_with(program)) command.insert(std::strlen(program), options);
    }
    static const std::regex program("build/release/examples/(\\w+)");
    command =
        std::regex_replace(command, program, TESSERA_EMULATOR " '" TESSERA_EXAMPLES_DIR "/$1'");
    write("command.sh", command + '\n');
    const std::string shell = "cd '" + folder_.string() + "' && sh command.sh >out.txt 2>err.txt";
    EXPECT_EQ(std::system(shell.c_str()), 0) << block.place() << ": " << line << '\n'
                                             << file_text(folder_ / "err.txt");
  }
};

/// Whether a command, or a block with this first line, is run.
bool is_run(const std::string& line) {
  return std::none_of(kNotRun.begin(), kNotRun.end(), [&](const NotRun& each) {
    return std::regex_search(line, std::regex(each.begins), std::regex_constants::match_continuous);
  });
}

TEST_F(ReadmeCommands, EachRunsInTheOrderOfItsPage) {
  int count = 0;
  int shown = 0;
  std::string page;
  const std::vector<Block> blocks = all_blocks(kRoot);
  for (const Block& block : blocks) {
    if (block.kind != "sh") continue;
    start_page(page, block.file);
    bool was_run = false;  // the last command
    std::istringstream lines(block.text);
    for (std::string line, part; std::getline(lines, part);) {
      line += part;
      if (line.ends_with('\\')) {  // goes on in the next line
        line.pop_back();
        continue;
      }
      was_run = !line.empty() && !line.starts_with("#") && is_run(line);
      if (was_run) {
        ++count;
        run_line(block, line);
      }
      line.clear();
    }
    // Outputs on other pages come from larger models than the small ones here.
    const Block* const below =
        block.file == "README.md" ? shown_below(blocks, block.place()) : nullptr;
    if (below != nullptr && was_run) {
      ++shown;
      EXPECT_EQ(form_of(file_text(folder_ / "out.txt")), form_of(below->text)) << below->place();
    }
  }
  EXPECT_GT(count, 15);
  EXPECT_EQ(shown, 1) << "the search of README.md";
}

/// The demo prints the text that README.md shows below its command.
TEST_F(ReadmeCommands, TheDemoPrintsWhatThePageShows) {
  if (!std::string(TESSERA_EMULATOR).empty()) GTEST_SKIP() << "it would take minutes";
  const std::vector<Block> blocks = blocks_of(kRoot, "README.md");
  const auto command = std::ranges::find_if(
      blocks, [](const Block& block) { return contains(block.text, "--preset demo"); });
  ASSERT_TRUE(command != blocks.end() && command + 1 != blocks.end());
  ASSERT_EQ(command[1].kind, "text");
  const Outcome demo = run("first_encoder", "");
  EXPECT_TRUE(contains(demo.output, command[1].text));
}

/// Programs and statements run one after the other in one folder, and print what the page shows right
/// below them.
TEST_F(ReadmeCommands, EachBlockOfCppRuns) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  std::string name = "app", model = "all-MiniLM-L6-v2";
  char* arguments[] = {name.data(), model.data(), nullptr};
  EXPECT_GT(compiled_blocks().size(), 20U);
  std::string page;
  const std::vector<Block> blocks = all_blocks(kRoot);
  int shown = 0;
  for (const CompiledBlock& block : compiled_blocks()) {
    if (!is_run(block.first)) continue;
    start_page(page, block.place.substr(0, block.place.find(':')));
    std::ostringstream printed;
    std::streambuf* const console = std::cout.rdbuf(printed.rdbuf());
    try {
      EXPECT_EQ(block.run(2, arguments), 0) << block.place;
    } catch (const std::exception& error) {
      ADD_FAILURE() << block.place << ": " << error.what();
    }
    std::cout.rdbuf(console);
    EXPECT_TRUE(!block.is_program || !printed.str().empty()) << block.place;
    if (const Block* below = shown_below(blocks, block.place)) {
      ++shown;
      if (below->is_printed) {
        EXPECT_EQ(printed.str(), below->text) << below->place();
      } else {
        EXPECT_EQ(form_of(printed.str()), form_of(below->text)) << below->place();
      }
    }
  }
  EXPECT_GT(shown, 10);
  fs::current_path(before);
}

}  // namespace
}  // namespace tessera::test
