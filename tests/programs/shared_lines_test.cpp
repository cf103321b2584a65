// Programs whose lines several processes share out: what they print and write is, byte for byte, what
// one process does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/programs/launched_run.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"

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

  /// Runs a program as so many processes, which end within a minute.
  Outcome run_as(int processes, const std::string& program, const std::string& arguments) const {
    return run(program, arguments, "timeout 60 " + launcher(processes));
  }

  /// Whether so many processes do what one does, and write the same file.
  ::testing::AssertionResult as_one(int processes, const std::string& program,
                                    const std::string& arguments,
                                    const std::string& file = "") const {
    const Outcome one = run(program, arguments);
    const std::string written = file.empty() ? "" : contents(path(file));
    if (!file.empty()) fs::remove(path(file));
    const Outcome many = run_as(processes, program, arguments);
    if (one.status != 0 || many.status != 0) {
      return ::testing::AssertionFailure()
             << one.status << ' ' << one.errors << "; " << many.status << ' ' << many.errors;
    }
    if (one.output.empty() && written.empty()) {
      return ::testing::AssertionFailure() << "one process gives nothing";
    }
    if (one.output != many.output) {
      return ::testing::AssertionFailure() << program << ' ' << arguments << ": one process:\n"
                                           << one.output << processes << " processes:\n"
                                           << many.output;
    }
    if (!file.empty() && contents(path(file)) != written) {
      return ::testing::AssertionFailure() << program << ' ' << arguments << ": another " << file;
    }
    return ::testing::AssertionSuccess();
  }

  static std::string with_model(const std::string& folder, const std::string& arguments) {
    return "--model '" + golden_folder(folder).string() + "' " + arguments;
  }
};

TEST_F(SharedLines, VectorsAreThoseOfOneProcess) {
  const auto sentence = [](const std::string& arguments) {
    return with_model("sentence", arguments);
  };
  EXPECT_TRUE(as_one(3, "embed", sentence("--output x.npy --truncate 5 7.txt"), "x.npy"));
  EXPECT_TRUE(as_one(2, "embed", sentence("--query cat --top 3 --json < 7.txt")));
  EXPECT_TRUE(as_one(3, "embed", sentence("< 2.txt")));
  EXPECT_TRUE(as_one(3, "embed", sentence("--output x.npy --json < 1.txt"), "x.npy"));
  const Outcome nothing = run_as(2, "embed", sentence("--output nothing.npy < 0.txt"));
  EXPECT_NE(nothing.status, 0);
  EXPECT_NE(nothing.errors.find("embed: standard input: the file is empty"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("nothing.npy")));
}

TEST_F(SharedLines, AnswersAreThoseOfOneProcess) {
  copy_for_questions(folder_ / "model");
  EXPECT_TRUE(as_one(3, "classify_text", with_model("bert", "--top 2 < 7.txt")));
  EXPECT_TRUE(as_one(3, "classify_text", with_model("bert", "--pair --json 2_pairs.txt")));
  EXPECT_TRUE(as_one(2, "tag_tokens", with_model("bert", "7.txt")));
  EXPECT_TRUE(as_one(3, "fill_mask", with_model("bert", "--top 2 7_blanks.txt")));
  EXPECT_TRUE(as_one(2, "rerank", with_model("reranker", "--query 'a cat' --top 5 7.txt")));
  EXPECT_TRUE(as_one(2, "answer", "--model model --pair 7_pairs.txt"));
  EXPECT_TRUE(as_one(3, "tokenize", with_model("bert", "7.txt")));
}

TEST_F(SharedLines, ErrorsNumberTheLinesOfTheWholeInput) {
  const auto says = [&](int processes, const std::string& program, const std::string& arguments,
                        const std::string& words) {
    const Outcome outcome = run_as(processes, program, arguments);
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.output, "");
    EXPECT_NE(outcome.errors.find(words), std::string::npos) << outcome.errors;
  };
  says(2, "tokenize", with_model("bert", "--decode < 7_numbers.txt"),
       "standard input: line 6: wanted a token's number, got 'x'");
  // In the second of three shares, lines 3 and 4, line 4 is the first that is cut before its blank.
  says(3, "fill_mask", with_model("bert", "--max-length 5 7_long.txt"), "text 3 has no [MASK]");
  says(2, "answer", "--model none --question 'who is it' 7.txt",
       "one --question is the work of one");
}

TEST_F(SharedLines, AClassifierNamesAndTestsThemAsOneProcess) {
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
                "--batch 4 --save run")
                .status,
            0);
  EXPECT_TRUE(as_one(3, "train_classifier", "--resume run --predict --probabilities < lines.txt"));
  EXPECT_TRUE(as_one(2, "train_classifier", "--resume run --test test.tsv --predict < 0.txt"));
  EXPECT_TRUE(as_one(3, "train_classifier", "--resume run --predict < 1.txt"));
}

}  // namespace
}  // namespace tessera::test
