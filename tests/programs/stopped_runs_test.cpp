// Runs that are stopped, killed, started twice or started in the folder of another one.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <chrono>
#include <thread>

#include "tests/programs/launched_run.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr const char* kSavedFile = "run/checkpoint.safetensors";
constexpr const char* kIsLocked = "another run is writing there";
const std::string kEndlessRun = kReverse + "--epochs 1000000 --save run ";

class StoppedRuns : public TrainingPrograms {
 protected:
  static std::string bert(const std::string& arguments) {
    return with_model("bert", "--train train.tsv --batch-size 4 --save new " + arguments);
  }

  /// Starts a program that runs during the test; `env` are its options, as for signals.
  LaunchedRun start(const std::string& program, const std::string& arguments,
                    const std::string& env) const {
    return {folder_, "env " + env + " " TESSERA_EMULATOR " '" TESSERA_EXAMPLES_DIR "/" + program +
                         "' " + arguments};
  }

  /// Waits until the file exists; returns false if the run ends before, or takes a minute.
  bool await(LaunchedRun& run, const std::string& file) const {
    for (int i = 0; i < 6000 && !fs::exists(folder_ / file); ++i) {
      if (run.status()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return fs::exists(folder_ / file);
  }

  /// The exit code of a run that ends within a minute; -1: by a signal or not at all.
  static int code_of(LaunchedRun& run) {
    for (int i = 0; i < 6000 && !run.status(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const int status = run.status().value_or(-1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static void kill(LaunchedRun& run) {
    ::kill(run.command(), SIGKILL);
    EXPECT_EQ(code_of(run), -1);
  }

  bool has_entry(const std::string& begins) const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(begins)) return true;
    }
    return false;
  }
};

TEST_F(StoppedRuns, AreReplacedOnRequest) {
  const std::array<std::array<std::string, 2>, 3> cases = {{{"train_classifier", kClassifier},
                                                            {"train_masked_lm", kMaskedLm},
                                                            {"train_reverse", kReverse}}};
  for (const auto& [program, arguments] : cases) {
    const std::string saving = arguments + "--max-steps 2 --save run ";
    ASSERT_EQ(run(program, saving).status, 0);
    const std::string saved = file_text(folder_ / kSavedFile);
    EXPECT_TRUE(
        fails(program, saving + "--seed 1",
              "run/checkpoint.safetensors: must not exist, but contains a saved run; continue with "
              "--resume run, or replace it with --overwrite"));
    EXPECT_TRUE(file_text(folder_ / kSavedFile) == saved);
    output_of(program, saving + "--seed 1 --overwrite");
    EXPECT_FALSE(file_text(folder_ / kSavedFile) == saved);
    fs::remove_all(folder_ / "run");
  }
  // Nor by a run that continues from elsewhere, or by a checkpoint of fine_tune.
  ASSERT_EQ(run("train_reverse", kReverse + "--max-steps 2 --save run").status, 0);
  ASSERT_EQ(run("train_reverse", kReverse + "--max-steps 2 --save other").status, 0);
  EXPECT_TRUE(fails("train_reverse", "--resume run --save other", "contains a saved run"));
  EXPECT_TRUE(fails("fine_tune", bert("--checkpoint other"), "contains a saved run"));
  EXPECT_EQ(run("train_reverse", "--resume run --save ./run/").status, 0);
}

TEST_F(StoppedRuns, OneWritesAFolderAtATime) {
  LaunchedRun first = start("train_reverse", kEndlessRun, "");
  ASSERT_TRUE(await(first, kSavedFile)) << file_text(folder_ / "err.txt");
  EXPECT_TRUE(fails("train_reverse", "--resume run", kIsLocked));
  EXPECT_TRUE(fails("train_reverse", kEndlessRun + "--overwrite", kIsLocked));
  EXPECT_TRUE(fails("train_classifier", kClassifier + "--save ./run", kIsLocked));
  EXPECT_EQ(run("inspect_checkpoint", kSavedFile).status, 0) << "reading is free";
  kill(first);
  EXPECT_EQ(run("train_reverse", "--resume run --max-steps 1").status, 0);
  EXPECT_FALSE(fs::exists(folder_ / "run/.lock"));
}

// A run that continues reads the checkpoint when no other run can save one any more, so it replaces
// exactly the checkpoint that it has read.
TEST_F(StoppedRuns, AFolderIsLockedBeforeItsCheckpointIsRead) {
  ASSERT_EQ(run("train_classifier", kClassifier + "--save run").status, 0);
  fs::copy(folder_ / "run", folder_ / "good", fs::copy_options::recursive);
  write(kSavedFile, "no checkpoint");
  const int lock = ::open(path("run/.lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const std::string go_on = "--resume run --train train.tsv ";
  EXPECT_TRUE(fails("train_classifier", go_on, kIsLocked));
  EXPECT_TRUE(fails("train_classifier", go_on + "--save ./run/", kIsLocked));
  // A folder that is only read is not locked.
  EXPECT_TRUE(fails("train_classifier", go_on + "--save other", kSavedFile));
  EXPECT_TRUE(fails("train_classifier", "--resume run --predict </dev/null", kSavedFile));
  ::close(lock);
  EXPECT_TRUE(fails("train_classifier", go_on, kSavedFile));
  EXPECT_EQ(run("train_classifier", "--resume good --train train.tsv --save other").status, 0);
  EXPECT_FALSE(fs::exists(folder_ / "run/.lock"));
}

TEST_F(StoppedRuns, OneTrainsAModelForAFolderAtATime) {
  LaunchedRun first = start("fine_tune", bert("--epochs 1000000"), "");
  ASSERT_TRUE(await(first, ".new.lock")) << file_text(folder_ / "err.txt");
  EXPECT_TRUE(fails("fine_tune", bert("--epochs 1"), kIsLocked));
  kill(first);
  output_of("fine_tune", bert("--epochs 1"));
  EXPECT_TRUE(fs::exists(folder_ / "new/config.json"));
  EXPECT_FALSE(has_entry(".new"));
}

// A process killed while saving leaves a folder; one that is still running holds its lock.
TEST_F(StoppedRuns, WhatAKilledOneWasSavingIsRemoved) {
  for (const char* const name : {".tessera-1-0.tmp", ".tessera-1-1.tmp", "tessera-1-0.tmp"}) {
    fs::create_directory(folder_ / name);
    write(std::string(name) + "/model.safetensors", "half of it");
  }
  const int lock = ::open(path(".tessera-1-1.tmp").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  const Outcome outcome = run("fine_tune", bert("--epochs 1"));
  ::close(lock);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_FALSE(has_entry(".tessera-1-0.tmp"));
  EXPECT_TRUE(has_entry(".tessera-1-1.tmp"));
  EXPECT_TRUE(has_entry("tessera-1-0.tmp")) << "is not ours";
}

TEST_F(StoppedRuns, EndWithTheSignalsCodeAfterSaving) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    LaunchedRun run = start("train_reverse", kEndlessRun, "--default-signal");
    ASSERT_TRUE(await(run, kSavedFile)) << file_text(folder_ / "err.txt");
    ::kill(run.command(), signal);
    if (signal == SIGHUP) ::kill(run.command(), signal);  // as sent by a terminal and its shell
    EXPECT_EQ(code_of(run), 128 + signal);
    const std::string output = file_text(folder_ / "out.txt");
    EXPECT_TRUE(contains(output, "; continue with --resume run"));
    EXPECT_EQ(file_text(folder_ / "err.txt"), "");
    fs::remove_all(folder_ / "run");
  }
}

// As for SIGHUP under nohup, and SIGINT for a job that a script starts with &.
TEST_F(StoppedRuns, IgnoreTheSignalsThatWereIgnoredAtTheStart) {
  // UCX, which Debian 13's Open MPI loads, handles SIGHUP itself by default.
  LaunchedRun run = start("train_reverse", kEndlessRun,
                          "--default-signal=TERM --ignore-signal=HUP,INT UCX_DEBUG_SIGNO=0");
  ASSERT_TRUE(await(run, kSavedFile)) << file_text(folder_ / "err.txt");
  for (const int signal : {SIGHUP, SIGINT}) {
    ::kill(run.command(), signal);
    fs::remove(folder_ / kSavedFile);
    EXPECT_TRUE(await(run, kSavedFile)) << "it saves after each epoch";
  }
  ::kill(run.command(), SIGTERM);
  EXPECT_EQ(code_of(run), 128 + SIGTERM);
}

TEST_F(StoppedRuns, TheExperimentSaysWhatIsWrong) {
  const Outcome help = run("own_experiment", "--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(help.output, "usage: own_experiment TRAIN HELD_OUT\n");
  EXPECT_EQ(help.errors, "");
  EXPECT_EQ(run("own_experiment", "--help >/dev/full #").status, 2);
  const std::string files = "train.tsv test.tsv";
  expect_fails("own_experiment", {{"", "files: must be 2, TRAIN and HELD_OUT, got 0"},
                                  {"train.tsv", "got 1"},
                                  {files + " more", "got 3"},
                                  {"train.tsv none.tsv", "none.tsv: "}});
  write("experiment", "no folder");
  EXPECT_TRUE(
      fails("own_experiment", files, "experiment/width=32,seed=0: cannot make this folder"));
  fs::remove(folder_ / "experiment");
  const std::string first = "experiment/width=32,seed=0/";
  fs::create_directories(folder_ / first);
  write(first + "checkpoint.safetensors", "no checkpoint");
  EXPECT_TRUE(fails("own_experiment", files, first + "checkpoint.safetensors: "));
  fs::remove(folder_ / first / "checkpoint.safetensors");
  fs::create_symlink("/dev/full", folder_ / first / "log.csv");
  EXPECT_TRUE(fails("own_experiment", files, first + "log.csv: cannot be written"));
}

TEST_F(StoppedRuns, TheExperimentInFiftyLinesIsContinued) {
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
  EXPECT_TRUE(contains(whole, "width=64,seed=2, epoch ")) << whole;
  fs::rename(folder_ / "experiment", folder_ / "whole");
  LaunchedRun stopped = start("own_experiment", "many.tsv test.tsv", "--default-signal");
  ASSERT_TRUE(await(stopped, "experiment/width=32,seed=1/checkpoint.safetensors"));
  ::kill(stopped.command(), SIGINT);
  EXPECT_EQ(code_of(stopped), 128 + SIGINT);
  EXPECT_TRUE(contains(file_text(folder_ / "out.txt"), "; start it again to continue\n"));
  const std::string rest = output_of("own_experiment", "many.tsv test.tsv");
  EXPECT_FALSE(contains(rest, "width=32,seed=0")) << "finished runs are not run again";
  for (const auto& entry : fs::directory_iterator(folder_ / "whole")) {
    const fs::path file = entry.path().filename() / "checkpoint.safetensors";
    EXPECT_TRUE(file_text(folder_ / "experiment" / file) == file_text(folder_ / "whole" / file));
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
  EXPECT_GT(number_after(output_of("images_as_patches", ""), "accuracy: "), 0.85);
  const std::string series = output_of("series_of_numbers", "");
  EXPECT_LT(number_after(series, "error: "), 0.2) << series;
  EXPECT_GT(number_after(series, "of the last value: "), 0.28) << series;
}

}  // namespace
}  // namespace tessera::test
