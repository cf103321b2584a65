// --report of the training programs, and compare_runs: pages with the contents of the logs.
#include <regex>

#include "tessera/tensor/error.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using Cells = std::vector<std::string>;

std::vector<Cells> rows_of(const std::string& csv) {
  std::vector<Cells> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line + ",");
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

class Reports : public TrainingPrograms {
 protected:
  ::testing::AssertionResult page_says(const std::string& page, const std::string& words) const {
    const bool says = file_text(folder_ / page).find(words) != std::string::npos;
    return ::testing::AssertionResult(says) << "'" << words << "' in " << page;
  }

  /// The page holds the log.
  void expect_numbers_of(const std::string& log, const std::string& page) const {
    std::istringstream lines(file_text(folder_ / log));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_TRUE(page_says(page, line + "\\n"));
    }
    ASSERT_GT(count, 1);
  }
};

TEST_F(Reports, SayWhatTheLogSays) {
  struct Run {
    std::string program, arguments;
    std::vector<std::string> words;
  };
  const std::string bert = with_model("bert",
                                      "--train train.tsv --test test.tsv --held-out-share 0.2 "
                                      "--batch-size 8 --epochs 2 --save new");
  const std::vector<Run> cases = {
      {"train_reverse", kReverse, {"Letters of unseen words", "finished after step 30 of 30"}},
      {"train_classifier",
       kClassifier + "--held-out-share 0.25 --seed 7",
       {"Held-out lines", "Lines of --test", ">--seed</th><td>7<",
        ">--held-out-share</th><td>0.25<", ">parameters</th><td>", "\\n8,1,"}},
      {"train_masked_lm", kMaskedLm, {"held out", "<title>train_masked_lm: finished after"}},
      {"fine_tune", bert, {"Held-out examples", "Examples of --test", ">fruit</span></th>"}}};
  for (const auto& [program, arguments, words] : cases) {
    output_of(program, arguments + " --log log.csv --report page.html");
    expect_numbers_of("log.csv", "page.html");
    for (const std::string& each : words) {
      EXPECT_TRUE(page_says("page.html", each)) << program;
    }
    EXPECT_TRUE(page_says("page.html", "\"running\":false"));
  }
}

TEST_F(Reports, ChangeNoBits) {
  const std::string run = kClassifier + "--held-out-share 0.25 ";
  output_of("train_classifier", run + "--save plain");
  output_of("train_classifier", run + "--save told --report page.html --log log.csv");
  EXPECT_TRUE(file_text(folder_ / "plain/checkpoint.safetensors") ==
              file_text(folder_ / "told/checkpoint.safetensors"));
}

// Without --log, the log in the folder contains the curves of the earlier call.
TEST_F(Reports, GoOnWhereTheRunWasStopped) {
  for (const std::string log : {"", " --log log.csv"}) {
    const std::string files = " --report page.html" + log;
    ASSERT_EQ(run("train_reverse", kReverse + "--save run --max-steps 12" + files).status, 0);
    EXPECT_TRUE(page_says("page.html", "stopped after step 12 of 30"));
    EXPECT_FALSE(page_says("page.html", "\\n13,"));
    const std::vector<std::string> words = {"\\n1,1,", "\\n12,", "\\n30,"};
    ASSERT_EQ(run("train_reverse", "--resume run" + files).status, 0);
    for (const std::string& each : words) EXPECT_TRUE(page_says("page.html", each)) << log;
    fs::remove_all(folder_ / "run");
  }
  expect_numbers_of("log.csv", "page.html");
  // Data of a different run is not taken over: the log in the folder of this run is.
  ASSERT_EQ(run("train_reverse", kReverse + "--seed 5 --save run --max-steps 12").status, 0);
  ASSERT_EQ(run("train_reverse", "--resume run --report page.html").status, 0);
  expect_numbers_of("run/log.csv", "page.html");
  fs::remove_all(folder_ / "run");
  ASSERT_EQ(run("train_reverse", kReverse + "--seed 6 --save run --max-steps 12").status, 0);
  fs::remove(folder_ / "run/log.csv");
  ASSERT_EQ(run("train_reverse", "--resume run --report page.html").status, 0);
  EXPECT_FALSE(page_says("page.html", "\\n12,"));
  EXPECT_TRUE(page_says("page.html", "\\n13,"));
}

// Logs with fewer columns, a partial line of a killed run, or different line ends; and logs in
// which the seconds restarted in each call.
TEST_F(Reports, GoOnWithLogsThatWereLeftOtherwise) {
  const std::string header = "step,epoch,loss,learning_rate,gradient_norm,tokens,seconds";
  const std::string first = "1,1,3.5,0.001,1,20,500", second = "2,1,3.25,0.001,1,20,1.5";
  const std::string want = header + "\n" + first + "\n" + second + "\n";
  for (const std::string& log :
       {want, want + "2", header + "\r\n" + first + "\r\n" + second + "\r\n"}) {
    output_of("train_reverse", kReverse + "--save run --max-steps 2");
    write("log.csv", log);
    output_of("train_reverse", "--resume run --log log.csv");
    const std::vector<Cells> rows = rows_of(file_text(folder_ / "log.csv"));
    ASSERT_EQ(rows.size(), 31U);
    EXPECT_EQ(rows[1], (Cells{"1", "1", "3.5", "0.001", "1", "20", "500", "", "", ""}));
    EXPECT_EQ(rows[2], (Cells{"2", "1", "3.25", "0.001", "1", "20", "1.5", "", "", ""}));
    EXPECT_GE(std::stod(rows[3][6]), 1.5) << "the time goes on";
    EXPECT_LT(std::stod(rows[3][6]), 400) << "the first call's time is there once";
    fs::remove_all(folder_ / "run");
  }
}

TEST_F(Reports, TellOfARunThatFails) {
  EXPECT_TRUE(
      fails("train_reverse", kReverse + "--epochs 100 --lr 1e9 --report page.html", "Trainer: "));
  EXPECT_TRUE(page_says("page.html", "failed after step "));
  EXPECT_TRUE(page_says("page.html", "\\n1,1,"));
}

TEST_F(Reports, NeedARunThatTrains) {
  output_of("train_classifier", kClassifier + "--save classes");
  EXPECT_TRUE(fails("train_classifier", "--resume classes --test test.tsv --report page.html",
                    "--report must be combined with --train FILE"));
}

TEST_F(Reports, CompareRuns) {
  write("a.csv", "step,epoch,loss,tokens,seconds,held_out_loss\n1,1,4,50,1,\n2,1,2,50,2,3.5\n");
  write("b.csv", "step,loss\n1,5\n2,0.125\n3,0.25\n");
  const std::string output = output_of("compare_runs", "a.csv b.csv --report page.html");
  const std::regex rows(
      "[^\n]*\n"
      "a.csv +2 +2 +2 \\(step 2\\) +3.5 +3.5 \\(step 2\\) +- +50 +2 s\n"
      "b.csv +3 +0.25 +0.125 \\(step 2\\) +- +- +- +- +-\n[^]*");
  EXPECT_TRUE(std::regex_match(output, rows)) << output;
  for (const char* const words :
       {"\\n2,1,2,,,50,2.000,,3.5,\\n", "\\n3,0,0.25,", "<td>0.125 (step 2)</td>"}) {
    EXPECT_TRUE(page_says("page.html", words));
  }
  write("bad.csv", "step,loss\n1,5\n2,x\n");
  EXPECT_TRUE(fails("compare_runs", "a.csv bad.csv --report other.html",
                    "bad.csv: line 3: loss: must be a number, got 'x'"));
  EXPECT_FALSE(fs::exists(folder_ / "other.html"));
  expect_fails("compare_runs", {{"a.csv no.csv", "no.csv"}, {"", "RUN"}});
}

// The folders of a shell loop over seeds and options. With each of these seeds the accuracies of the
// two settings differ: equal ones have no sign, and p would be greater.
TEST_F(Reports, CompareSettingsOfRunsInFolders) {
  for (const char* const rate : {"1e-3", "1e-2"}) {
    for (const char* const seed : {"1", "2"}) {
      const std::string folder = str_cat("runs/lr=", rate, ",seed=", seed);
      output_of("train_reverse", str_cat(kReverse, "--lr ", rate, " --seed ", seed, " --save ",
                                         folder, " --report ", seed, ".html"));
      fs::rename(folder_ / str_cat(seed, ".html"), folder_ / folder / "report.html");
    }
  }
  const std::string output = output_of("compare_runs", "runs/*/ --report all.html");
  const std::string table = output.substr(output.find("\n\n") + 2);
  EXPECT_TRUE(table.starts_with("setting       runs  mean_accuracy")) << output;
  EXPECT_TRUE(contains(table, "\nruns/lr=1e-2     2  ")) << output;
  EXPECT_TRUE(contains(table, "  0.5     0.5\n")) << "2 seeds: p is 2 / 4\n" << output;
  for (const char* const words :
       {"\"setting\":\"runs/lr=1e-3\"", "href=\"runs/lr=1e-2,seed=2/report.html\""}) {
    EXPECT_TRUE(page_says("all.html", words));
  }
  const std::string one = output_of("compare_runs", "runs/lr=1e-3,seed=1 runs/lr=1e-3,seed=2");
  EXPECT_TRUE(one.starts_with("run ")) << one;
  fs::remove(folder_ / "runs/lr=1e-3,seed=1/log.csv");
  EXPECT_TRUE(fails("compare_runs", "runs/*", "runs/lr=1e-3,seed=1/log.csv: "));
}

}  // namespace
}  // namespace tessera::test
