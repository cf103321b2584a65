// --seeds and --sweep of the training programs: many runs, and one table.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/programs/launched_run.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

const std::string kAxes = "--seeds 0..2 --sweep lr=1e-3,1e-2 width=8,16 ";
const std::string kSweep = "--train train.tsv --held-out-share 0.25 --epochs 3 " + kTiny + kAxes;

class Sweeps : public TrainingPrograms {
 protected:
  // A program starts itself again, which an emulator cannot do.
  void SetUp() override {
    TrainingPrograms::SetUp();
    if (std::string(TESSERA_EMULATOR) != "") GTEST_SKIP() << "no native program";
  }

  index_t lines_in(const std::string& name) const {
    const std::string text = file_text(folder_ / name);
    return std::ranges::count(text, '\n');
  }

  /// Starts a sweep and waits until `results` runs have a result and a further one has saved.
  std::unique_ptr<LaunchedRun> start(const std::string& arguments, index_t results) const {
    auto run = std::make_unique<LaunchedRun>(
        folder_, "env --default-signal '" TESSERA_EXAMPLES_DIR "/train_classifier' " + arguments);
    for (int i = 0; i < 6000 && !(lines_in("cut/runs.csv") > results && saves_of("cut") > results);
         ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GT(lines_in("cut/runs.csv"), results) << file_text(folder_ / "err.txt");
    return run;
  }

  index_t saves_of(const std::string& sweep) const {
    index_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / sweep)) {
      count += fs::exists(entry.path() / "checkpoint.safetensors");
    }
    return count;
  }

  /// The log without the times.
  std::string log_of(const std::string& run) const {
    std::istringstream lines(file_text(folder_ / run / "log.csv"));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      int column = 0;
      for (std::string cell; std::getline(cells, cell, ',');) {
        if (column++ != 6) kept += cell + ',';
      }
      kept += '\n';
    }
    return kept;
  }
};

// One is killed, its children with it; one gets a signal, which its children get too.
TEST_F(Sweeps, KilledAndContinuedEndWithTheTableOfAnUnbrokenOne) {
  const std::string whole = output_of("train_classifier", kSweep + "--save whole --jobs 1");
  const std::string table = whole.substr(whole.rfind("\n\n") + 2);
  EXPECT_TRUE(table.starts_with("lr    width  runs  mean_held_out_accuracy")) << whole;
  EXPECT_EQ(std::ranges::count(table, '\n'), 5);

  const auto killed = start(kSweep + "--save cut --jobs 1", 3);
  EXPECT_TRUE(fails("train_classifier", kSweep + "--save cut", "another run is writing there"));
  ::kill(killed->command(), SIGKILL);
  for (int i = 0; i < 2000 && !killed->processes().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(killed->processes().empty()) << "its run goes on without it";
  const index_t results = lines_in("cut/runs.csv") - 1;
  EXPECT_LT(results, 12);

  const auto stopped = start(kSweep + "--save cut --jobs 2", results + 2);
  ::kill(stopped->command(), SIGTERM);
  while (!stopped->status()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(WEXITSTATUS(*stopped->status()), 128 + SIGTERM);
  EXPECT_TRUE(contains(file_text(folder_ / "out.txt"), " of 12 runs are finished; start it again"));
  EXPECT_FALSE(fs::exists(folder_ / "cut/sweep.csv"));
  EXPECT_LT(lines_in("cut/runs.csv"), 13);

  const std::string rest = output_of("train_classifier", kSweep + "--save cut --jobs 2");
  EXPECT_TRUE(rest.ends_with("\n\n" + table)) << rest;
  EXPECT_FALSE(contains(rest, "\n1/12")) << "finished runs are not run again";
  for (const char* const file : {"runs.csv", "sweep.csv", "options.csv"}) {
    EXPECT_EQ(file_text(folder_ / "cut" / file), file_text(folder_ / "whole" / file)) << file;
  }
  const std::string page = file_text(folder_ / "cut/sweep.html");
  for (const auto& entry : fs::directory_iterator(folder_ / "whole")) {
    if (!entry.is_directory()) continue;
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(log_of("cut/" + name), log_of("whole/" + name)) << name;
    EXPECT_TRUE(file_text(entry.path() / "checkpoint.safetensors") ==
                file_text(folder_ / "cut" / name / "checkpoint.safetensors"))
        << name;
    EXPECT_TRUE(contains(page, "<a href=\"" + name + "/report.html\">" + name + "</a>")) << name;
  }
  EXPECT_TRUE(contains(page, "<th scope=\"col\">p_holm</th>"));
}

TEST_F(Sweeps, RunsAreThoseOfTheirOptions) {
  output_of("train_reverse", kReverse + "--save sweep --seeds 3,5 --sweep dropout=0,0.5");
  output_of("train_reverse", kReverse + "--save plain --seed 5 --dropout 0.5");
  EXPECT_TRUE(file_text(folder_ / "sweep/dropout=0.5,seed=5/checkpoint.safetensors") ==
              file_text(folder_ / "plain/checkpoint.safetensors"));
  EXPECT_TRUE(file_text(folder_ / "sweep/sweep.csv").starts_with("dropout,runs,mean_accuracy,"));
  // More seeds join the ones that are there.
  const std::string more =
      output_of("train_reverse", kReverse + "--save sweep --seeds 3..5 --sweep dropout=0,0.5");
  EXPECT_TRUE(more.starts_with("5/6  dropout=0,seed=4  accuracy ")) << more;
}

TEST_F(Sweeps, FineTunedModelsAreSavedEach) {
  const std::string arguments = with_model(
      "bert",
      "--train train.tsv --held-out-share 0.2 --batch-size 8 --epochs 1 --save sweep --seeds 0..1");
  const std::string output = output_of("fine_tune", arguments);
  EXPECT_TRUE(contains(output, "runs  mean_held_out_accuracy")) << output;
  for (const char* const run : {"seed=0", "seed=1"}) {
    EXPECT_TRUE(fs::exists(folder_ / "sweep" / run / "model/config.json"));
  }
  // Runs that were trained, but have no result: they are continued, not begun.
  for (const char* const run : {"seed=0", "seed=1"})
    fs::remove(folder_ / "sweep" / run / "finished");
  const std::string again = output_of("fine_tune", arguments);
  EXPECT_EQ(again, output);
}

TEST_F(Sweeps, SayWhatIsWrong) {
  const std::string options = "--train train.tsv --held-out-share 0.25 --epochs 1 " + kTiny;
  const std::string call = options + "--save sweep ";
  expect_fails(
      "train_classifier",
      {{options + "--seeds 0..2", "--seeds and --sweep must be combined with --save"},
       {call + "--seeds 2..1", "seeds: must be from 1 to 10000 seeds, got '2..1'"},
       {call + "--seeds 1,,2", "seeds: must have the form 0..4 or 0,3,7, got '1,,2'"},
       {call + "--seeds 1,1", "seeds must be at least 1, each given once"},
       {call + "--sweep lr", "sweep: must have the form NAME=VALUE,VALUE, got 'lr'"},
       {call + "--sweep lr=1,x", "--sweep: --lr: must be a number from 0 to 1e+09, got 'x'"},
       {call + "--sweep batch-size=", "--batch-size: must be a whole number"},
       {call + "--sweep seed=1,2", "each given once"},
       {call + "--sweep lr=1 lr=2", "names must be at least 1, each given once"},
       {call + "--sweep size=1", "--sweep must name one of layers, width, heads, feed-forward, "},
       {call + "--sweep size=1", "max-words, got 'size'"},
       {call + "--seeds 0..1 --log a", "--log must not be combined with --seeds or --sweep"},
       {call + "--seeds 0..1 --seed 1", "--seed must not be combined with --seeds"},
       {call + "--jobs 2", "--jobs must be combined with --seeds or --sweep"}});
  EXPECT_FALSE(fs::exists(folder_ / "sweep"));
  EXPECT_TRUE(fails("train_classifier", call + "--held-out none.tsv --seeds 1..2",
                    "sweep: 2 of 2 runs failed, first seed=1: must end without an error, got exit "
                    "code 2: --held-out must not be combined with --held-out-share; see "
                    "sweep/seed=1/output.txt; start it again to repeat them"));
  output_of("train_classifier", call + "--seeds 1..2");
  EXPECT_TRUE(fails("train_classifier", call + "--clip 2 --seeds 1..2",
                    "options must be those of the sweep, '--clip,1', got '--clip,2'"));
  output_of("train_classifier", call + "--clip 2 --seeds 1..2 --overwrite");
  // The same name, other lines.
  write("train.tsv", file_text(folder_ / "train.tsv") + "fruit\tan apple\n");
  EXPECT_TRUE(fails("train_classifier", call + "--clip 2 --seeds 1..3",
                    "options must be those of the sweep, '--train,"));
  // Checkpoints of other axes count too.
  output_of("train_classifier", options + "--save other --sweep lr=1e-3,2e-3");
  EXPECT_TRUE(fails("train_classifier", options + "--save other --clip 2 --sweep lr=3e-3",
                    "options must be those of the sweep, '--clip,1', got '--clip,2'"));
}

TEST_F(Sweeps, CompareOneMeasure) {
  const std::string call =
      "--train train.tsv --epochs 1 --save sweep " + kTiny + "--sweep held-out-share=";
  output_of("train_classifier", call + "0.25");
  output_of("train_classifier", call + "0");
  EXPECT_TRUE(
      fails("train_classifier", call + "0.25,0",
            "measure must be that of held-out-share=0.25,seed=0, held_out_accuracy, got accuracy"));
}

TEST_F(Sweeps, EndWithoutNewsOfTheirChildren) {
  const Outcome outcome = run("train_reverse", kReverse + "--save sweep --seeds 0..1",
                              "timeout 60 env --ignore-signal=CHLD ");
  EXPECT_EQ(outcome.status, 2) << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors, "must end without an error")) << outcome.errors;
}

TEST_F(Sweeps, TheExperimentInFiftyLinesIsContinued) {
  std::istringstream source(file_text(TESSERA_SOURCE_DIR "/examples/course/own_experiment.cpp"));
  int lines = 0;
  for (std::string line; std::getline(source, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    lines += first != std::string::npos && line.compare(first, 2, "//") != 0;
  }
  EXPECT_LE(lines, 50);
  EXPECT_GT(lines, 20);

  std::string many;
  for (int i = 0; i < 30; ++i) many += file_text(folder_ / "train.tsv");
  write("many.tsv", many);
  const std::string whole = output_of("own_experiment", "many.tsv test.tsv");
  const std::string table = whole.substr(whole.rfind("width  runs  mean_held_out_accuracy"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 3) << whole;
  fs::rename(folder_ / "experiment", folder_ / "whole");
  LaunchedRun stopped(
      folder_, "env --default-signal '" TESSERA_EXAMPLES_DIR "/own_experiment' many.tsv test.tsv");
  const fs::path second = folder_ / "experiment/width=32,seed=1/checkpoint.safetensors";
  for (int i = 0; i < 6000 && !fs::exists(second); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(stopped.command(), SIGINT);
  while (!stopped.status()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(WEXITSTATUS(*stopped.status()), 128 + SIGINT);
  EXPECT_TRUE(contains(file_text(folder_ / "out.txt"),
                       " of 6 runs are finished; start it again to continue\n"));
  EXPECT_TRUE(output_of("own_experiment", "many.tsv test.tsv").ends_with(table));
  for (const char* const file : {"runs.csv", "sweep.csv"}) {
    EXPECT_EQ(file_text(folder_ / "experiment" / file), file_text(folder_ / "whole" / file));
  }
  for (const char* const run : {"width=32,seed=1", "width=64,seed=2"}) {
    EXPECT_EQ(log_of(std::string("experiment/") + run), log_of(std::string("whole/") + run));
  }
}

/// The number after `name` in a text.
double number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  EXPECT_NE(at, std::string::npos) << text;
  return std::atof(text.c_str() + at + name.size());
}

// Encoders of what is no text.
TEST_F(Programs, EncodersLearnImagesAndSeries) {
  EXPECT_GT(number_after(output_of("images_as_patches", ""), "right: "), 0.85);
  const std::string series = output_of("series_of_numbers", "");
  EXPECT_LT(number_after(series, "error: "), 0.2) << series;
  EXPECT_GT(number_after(series, "of the last value: "), 0.28) << series;
}

}  // namespace
}  // namespace tessera::test
