// Programs whose lines are shared by several processes: all output is the same, byte for byte, as
// that of one process.
#include <cstdlib>
#include <filesystem>
#include <future>

#include "tests/programs/launched_run.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr int kSeven = 7;  // lines, of which three processes have 2, 2 and 3

class SharedLines : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    if (!has_launcher()) GTEST_SKIP() << "there is no MPI";
    const std::vector<std::string> texts = {
        "the cat sat on a mat", "Who wrote it?",   "river", "many people live in paris", "a",
        "the dog ran",          "Zoë has 12 cats."};
    std::string plain, blanks, pairs, numbers;
    for (int i = 0; i < kSeven; ++i) {
      const std::string& text = texts[static_cast<std::size_t>(i)];
      plain += text + '\n';
      blanks += text + " [MASK] .\r\n";
      pairs += "where is the cat\t" + text + " and the cat sat on a mat\n";
      numbers += std::to_string(5 + i) + (i == 5 ? " x\n" : " 7\n");
      if (i == 0) write("1.txt", plain);
      if (i == 1) write("2.txt", plain);
      if (i == 1) write("2_pairs.txt", pairs);
    }
    write("0.txt", "");
    write("7.txt", plain);
    write("7_blanks.txt", blanks);
    write("7_pairs.txt", pairs);
    write("7_numbers.txt", numbers);
    const std::string cut = "the cat sat on a mat and [MASK]\n";
    write("7_long.txt", "a [MASK]\na [MASK]\na [MASK]\n" + cut + "a [MASK]\n" + cut + cut);
  }

  /// Runs a program as `processes` processes, in a separate folder next to the files; `in_each`
  /// precedes the program in each process.
  Outcome run_as(int processes, const std::string& program, const std::string& arguments,
                 const std::string& name, const std::string& in_each = "") const {
    fs::create_directory(folder_ / name);
    const std::string command = "cd '" + path(name) + "' && timeout 60 " + launcher(processes) +
                                " " + in_each + " " TESSERA_EMULATOR " '" TESSERA_EXAMPLES_DIR "/" +
                                program + "' " + arguments + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(folder_ / name / "out.txt"),
            file_text(folder_ / name / "err.txt")};
  }

  struct Case {
    int processes;
    std::string program, arguments;
    std::string file = "";  // the output file
  };

  /// Whether several processes give the output of one.
  ::testing::AssertionResult as_one(const Case& c, const std::string& name) const {
    const std::string of_one = name + "_one";
    const Outcome one = run_as(1, c.program, c.arguments, of_one);
    const Outcome many = run_as(c.processes, c.program, c.arguments, name);
    const auto different = [&](const std::string& what, const std::string& a,
                               const std::string& b) {
      return ::testing::AssertionFailure()
             << c.program << ' ' << c.arguments << ": " << what << " of one process:\n"
             << a << "\nof " << c.processes << ":\n"
             << b;
    };
    if (one.status != 0 || many.status != 0) return different("errors", one.errors, many.errors);
    if (one.output != many.output) return different("output", one.output, many.output);
    if (c.file.empty() && one.output.empty()) return different("nothing", "", "");
    if (c.file.empty()) return ::testing::AssertionSuccess();
    const std::string written = file_text(folder_ / of_one / c.file);
    const std::string other = file_text(folder_ / name / c.file);
    if (written.empty() || written != other) return different(c.file, written, other);
    return ::testing::AssertionSuccess();
  }

  /// The same for several programs at once, because starting processes is mostly waiting.
  void expect_as_one(const std::vector<Case>& cases) const {
    std::vector<std::future<::testing::AssertionResult>> results;
    for (const Case& c : cases) {
      results.push_back(std::async(
          std::launch::async,
          [this, &c, name = std::to_string(results.size())] { return as_one(c, name); }));
    }
    for (auto& result : results) EXPECT_TRUE(result.get());
  }
};

TEST_F(SharedLines, VectorsAreThoseOfOneProcess) {
  const auto sentence = [](const std::string& arguments) {
    return with_model("sentence", arguments);
  };
  expect_as_one({{3, "embed", sentence("--output x.npy --truncate-dim 5 ../7.txt"), "x.npy"},
                 {2, "embed", sentence("--query cat --top 3 --json < ../7.txt")},
                 {3, "embed", sentence("< ../2.txt")},
                 {3, "embed", sentence("--output x.npy --json < ../1.txt"), "x.npy"}});
  const Outcome nothing = run_as(2, "embed", sentence("--output x.npy < ../0.txt"), "nothing");
  EXPECT_EQ(nothing.status, 2);
  EXPECT_TRUE(
      contains(nothing.errors, "embed: standard input: must have at least 1 byte, got none"));
  EXPECT_FALSE(fs::exists(folder_ / "nothing" / "x.npy"));
}

TEST_F(SharedLines, AnswersAreThoseOfOneProcess) {
  copy_for_questions(folder_ / "model");
  expect_as_one({{3, "classify_text", with_model("bert", "--top 2 < ../7.txt")},
                 {3, "classify_text", with_model("bert", "--pair --json ../2_pairs.txt")},
                 {2, "tag_tokens", with_model("bert", "../7.txt")},
                 {3, "fill_mask", with_model("bert", "--top 2 ../7_blanks.txt")},
                 {2, "rerank", with_model("reranker", "--query 'a cat' --top 5 ../7.txt")},
                 {2, "answer", "--model ../model --pair ../7_pairs.txt"},
                 {3, "tokenize", with_model("bert", "../7.txt")}});
}

TEST_F(SharedLines, ErrorsNumberTheLinesOfTheWholeInput) {
  const auto says = [&](int processes, const std::string& program, const std::string& arguments,
                        const std::string& words, const std::string& in_each = "") {
    const Outcome outcome = run_as(processes, program, arguments, "error", in_each);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.output, "");
    EXPECT_TRUE(contains(outcome.errors, words));
  };
  says(2, "tokenize", with_model("bert", "--decode < ../7_numbers.txt"),
       "tokenize: rank 1: standard input: line 6: must hold the numbers of tokens, got 'x'");
  // The blank of line 4 is removed. The second of three processes has lines 3 and 4.
  says(3, "fill_mask", with_model("bert", "--max-length 5 ../7_long.txt"),
       "7_long.txt: line 4 must have a [MASK], got none in its 5 tokens");
  says(2, "answer", "--model none --question 'who is it' ../7.txt",
       "--question must run in one process, got 2; several");
  // Each process in its own folder, as if on its own host.
  for (const std::string rank : {"0", "1"}) {
    fs::create_directory(folder_ / rank);
    write(rank + "/lines.txt", "line " + rank + "\n");
  }
  says(2, "tag_tokens", with_model("bert", "lines.txt"),
       "lines.txt: lines.txt must be the same on all ranks, got '7 bytes with",
       "sh -c 'cd ../$OMPI_COMM_WORLD_RANK$PMI_RANK && exec \"$0\" \"$@\"'");
}

TEST_F(SharedLines, ClassifiersNameAndTestThemAsOneProcess) {
  std::string tsv;
  for (int i = 0; i < 20; ++i) {
    tsv += "fruit\tan apple and " + std::to_string(i) + " pears\n";
    tsv += "tool\ta hammer or " + std::to_string(i) + " nails\n";
  }
  write("train.tsv", tsv);
  write("test.tsv", "tool\ta hammer\nfruit\tpears\ntool\tpears or a hammer\n");
  write("lines.txt", "\xEF\xBB\xBFpears\r\na hammer\n\nan apple\nnails\npears and\nor 3 nails");
  ASSERT_EQ(run("train_classifier",
                "--train train.tsv --epochs 3 --layers 1 --width 8 --heads 2 --feed-forward 16 "
                "--batch-size 4 --save run")
                .status,
            0);
  const std::string resumed = "--resume ../run ";
  const std::string tuned =
      with_model("bert",
                 "--train ../train.tsv --held-out-share 0.2 --test ../test.tsv --epochs 1 "
                 "--batch-size 8 --shards 2 --save tuned | sed 's/  *[0-9]* tokens.*//'");
  expect_as_one({{3, "train_classifier", resumed + "--predict --probabilities < ../lines.txt"},
                 {2, "train_classifier", resumed + "--test ../test.tsv --predict < ../0.txt"},
                 {3, "train_classifier", resumed + "--predict < ../1.txt"},
                 {2, "fine_tune", tuned, "tuned/model.safetensors"}});
}

}  // namespace
}  // namespace tessera::test
