// The training programs as used by users: output, saving, resuming and errors.
#include "tests/programs/training_programs.h"

#include <csignal>
#include <cstdlib>

#include "tessera/nn/training/checkpoint.h"
#include "tessera/tensor/io/json.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

TEST_F(TrainingPrograms, TheClassifierEndsWithItsAccuracy) {
  const std::string output = output_of("train_classifier", kClassifier + "--epochs 30 --lr 0.01");
  EXPECT_TRUE(output.ends_with("\ntest macro F1 1.0000\ntest accuracy 1.0000\n")) << output;
  EXPECT_TRUE(contains(output, "fruit  tool\nfruit      1     0\ntool       0     1\n"));
}

TEST_F(TrainingPrograms, AProfileHasTheBackwardOfEachModule) {
  const Outcome outcome = run("train_classifier", kClassifier + "--profile profile.json");
  ASSERT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_TRUE(outcome.errors.starts_with("wall ")) << outcome.errors;
  std::set<std::string> names;
  for (const Json& event : read_json(path("profile.json")).at("traceEvents").items()) {
    names.insert(event.text("cat") + ' ' + event.at("args").text("module") + ' ' +
                 event.text("name"));
  }
  for (const char* const name :
       {"forward layers.0.self_attn linear", "backward layers.0.self_attn linear",
        "backward embeddings embedding", "step AdamW AdamW", "step training step training step"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(TrainingPrograms, TheClassifierSaysHowSureItIs) {
  ASSERT_EQ(run("train_classifier", kClassifier + "--epochs 30 --lr 0.01 --save run").status, 0);
  write("lines.txt", "some pears\nthe hammer\n");
  const std::string output =
      output_of("train_classifier", "--resume run --predict --probabilities < lines.txt");
  std::istringstream lines(output);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "class\tfruit\ttool\ttext");
  for (const char* const want : {"fruit", "tool"}) {
    std::string name;
    double fruit = 0, tool = 0;
    lines >> name >> fruit >> tool;
    EXPECT_EQ(name, want) << output;
    EXPECT_NEAR(fruit + tool, 1, 1e-4);
    EXPECT_EQ(fruit > tool, name == "fruit");
    std::getline(lines, line);
    EXPECT_EQ(line, name == "fruit" ? "\tsome pears" : "\tthe hammer");
  }
  EXPECT_TRUE(
      fails("train_classifier", "--resume run --test test.tsv --probabilities", "--probabilities"));
  EXPECT_EQ(output_of("train_classifier", "--resume run --predict < lines.txt"),
            "fruit\tsome pears\ntool\tthe hammer\n");
}

TEST_F(TrainingPrograms, TheMaskedModelFillsBlanks) {
  // 33 letters per line and 34 tokens per sequence: every letter has its own position.
  const std::string output =
      output_of("train_masked_lm", kMaskedLm +
                                       "--length 34 --epochs 40 --lr 0.01 --width 16 --dropout 0 "
                                       "--fill 'Round and r_und the'");
  EXPECT_TRUE(output.ends_with("\nfilled: Round and round the\n")) << output;
  EXPECT_TRUE(contains(output, "unigram entropy"));
}

TEST_F(TrainingPrograms, ReverseShowsItsMapIfItHasOne) {
  EXPECT_TRUE(contains(output_of("train_reverse", kReverse), "on the anti-diagonal: "));
  EXPECT_TRUE(contains(output_of("train_reverse", kReverse + "--layers 0"), " -> "));
}

TEST_F(TrainingPrograms, CheckpointedLayersEndWithTheSameBits) {
  const std::string arguments = kReverse + "--dropout 0.2 ";
  ASSERT_EQ(run("train_reverse", arguments + "--save plain").status, 0);
  ASSERT_EQ(run("train_reverse", arguments + "--gradient-checkpoint --save computed_again").status,
            0);
  const std::string want = file_text(folder_ / "plain" / "checkpoint.safetensors");
  ASSERT_FALSE(want.empty());
  EXPECT_EQ(file_text(folder_ / "computed_again" / "checkpoint.safetensors"), want);
}

// Stopped at several of 200 steps and resumed with another number of threads, a run ends with the
// same checkpoint, byte for byte, as a run that was not stopped.
TEST_F(TrainingPrograms, AResumedRunEndsWithTheSameBits) {
  const std::array<std::array<std::string, 2>, 3> cases = {
      {{"train_classifier", kClassifier + "--dropout 0.3 --epochs 20 "},
       {"train_masked_lm", kMaskedLm + "--batch-size 10 --epochs 20 "},
       {"train_reverse", kReverse + "--epochs 20 "}}};
  for (const auto& [program, arguments] : cases) {
    ASSERT_EQ(run(program, arguments + "--save whole --overwrite", "OMP_NUM_THREADS=2").status, 0);
    const std::string want = file_text(folder_ / "whole" / "checkpoint.safetensors");
    ASSERT_FALSE(want.empty());
    for (int stop : {1, 55, 100, 137, 199}) {
      const std::string folder = "cut" + std::to_string(stop);
      const std::string first = output_of(
          program, arguments + "--save " + folder + " --max-steps " + std::to_string(stop),
          "OMP_NUM_THREADS=3");
      EXPECT_TRUE(contains(first, "stopped after step " + std::to_string(stop) + " of 200;"));
      const std::string files = arguments.substr(0, arguments.find("--epochs"));
      output_of(program, (program == "train_reverse" ? "" : files) + "--resume " + folder,
                "OMP_NUM_THREADS=1");
      EXPECT_EQ(file_text(folder_ / folder / "checkpoint.safetensors"), want)
          << program << " stopped at " << stop;
      fs::remove_all(folder_ / folder);
    }
  }
}

// With held-out lines the best weights are kept, and used at the end and by later calls.
TEST_F(TrainingPrograms, TheClassifierKeepsTheBestOfItsHeldOutLines) {
  // The training lines are wrong here, so an early epoch is the best and patience is soon
  // exhausted.
  write("held_out.tsv", "tool\tan apple and 3 pears\nfruit\ta hammer or 4 nails\n");
  const std::string arguments = kClassifier + "--lr 0.01 --epochs 50 --patience 3 ";
  const std::string outcome = output_of(
      "train_classifier", arguments + "--held-out held_out.tsv --save run --test train.tsv");
  EXPECT_TRUE(contains(outcome, "; 2 lines are held out"));
  EXPECT_TRUE(contains(outcome, ", the best"));
  EXPECT_TRUE(contains(outcome, "no better for 3 epochs: ended after step"));
  const nn::Checkpoint saved = nn::load_checkpoint(folder_ / "run" / "checkpoint.safetensors");
  EXPECT_EQ(saved.integer("best.in_vain"), 3);
  EXPECT_EQ(saved.integer("best.step") + 30, saved.integer("scheduler.step"));
  EXPECT_TRUE(saved.tensors.contains("best.classifier.weight"));
  const std::string accuracy = outcome.substr(outcome.rfind("\ntest accuracy"));
  const Outcome again = run("train_classifier", "--resume run --test train.tsv");
  EXPECT_TRUE(again.output.ends_with(accuracy)) << again.output;
  // These weights are used.
  nn::Checkpoint changed = saved;
  for (auto& [name, tensor] : changed.tensors) {
    if (name.starts_with("best.")) tensor.fill(0);
  }
  nn::save_checkpoint(folder_ / "run" / "checkpoint.safetensors", changed);
  const Outcome zero = run("train_classifier", "--resume run --test train.tsv");
  EXPECT_TRUE(zero.output.ends_with("\ntest accuracy 0.5000\n")) << zero.output;
}

TEST_F(TrainingPrograms, TheClassifierHoldsOutAShare) {
  const std::string arguments = kClassifier + "--held-out-share 0.25 --shards 2 --patience 5 ";
  const Outcome whole = run("train_classifier", arguments + "--save whole");
  ASSERT_EQ(whole.status, 0) << whole.errors;
  EXPECT_TRUE(contains(whole.output, "30 lines"));
  EXPECT_TRUE(contains(whole.output, "; 10 lines are held out"));
  ASSERT_EQ(run("train_classifier", arguments + "--save cut --max-steps 11").status, 0);
  ASSERT_EQ(run("train_classifier", "--train train.tsv --resume cut").status, 0);
  EXPECT_TRUE(file_text(folder_ / "cut" / "checkpoint.safetensors") ==
              file_text(folder_ / "whole" / "checkpoint.safetensors"));
  expect_fails(
      "train_classifier",
      {{arguments + "--held-out test.tsv", "--held-out must not be combined with --held-out-share"},
       {kClassifier + "--held-out-share 0.01", "must hold out at least 1 of 40 examples"},
       {kClassifier + "--patience 2", "--patience must be combined with --held-out"}});
  ASSERT_EQ(run("train_classifier", kClassifier + "--held-out test.tsv --save run").status, 0);
  EXPECT_TRUE(fails("train_classifier", "--resume run --train train.tsv",
                    "examples must be those of the run"));
  EXPECT_TRUE(fails("train_classifier", "--resume run --held-out test.tsv --predict < test.tsv",
                    "--held-out must be combined with --train FILE"));
}

// A class may have only held-out lines, and lines keep their numbers in errors.
TEST_F(TrainingPrograms, LabelsAreThoseOfAllLines) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += "class" + std::to_string(i) + "\ta line\n";
  write("classes.tsv", lines);
  const std::string files = "--train classes.tsv ";
  const std::string output =
      output_of("train_classifier", files + kTiny +
                                        "--epochs 1 --held-out-share 0.5 --test "
                                        "classes.tsv --save run");
  EXPECT_TRUE(contains(output, " 20 classes"));
  write("classes.tsv", lines + "stranger\ta line\n");
  EXPECT_TRUE(fails("train_classifier", files + "--resume run",
                    "classes.tsv: line 21: label must be one of 'class0, class1, class10, class11, "
                    "class12, class13, class14, class15, class16, c"
                    "...', got 'stranger'"));
}

// The number of shards only affects the bits of a run.
TEST_F(TrainingPrograms, ShardsBelongToTheRun) {
  ASSERT_EQ(run("train_reverse", kReverse + "--shards 3 --save run --max-steps 4").status, 0);
  EXPECT_TRUE(fails("train_reverse", "--resume run --shards 2", "--shards"));
  EXPECT_EQ(run("train_reverse", "--resume run").status, 0);
  EXPECT_TRUE(fails("train_reverse", kReverse + "--shards 0", "--shards"));
}

TEST_F(TrainingPrograms, TheLogHasALineAStep) {
  ASSERT_EQ(run("train_reverse", kReverse + "--save run --log log.csv --max-steps 12").status, 0);
  // A run that was killed has written lines after its last checkpoint.
  std::ofstream(folder_ / "log.csv", std::ios::app) << "13,2,9,9,9,9,9\n14,2,9";
  ASSERT_EQ(run("train_reverse", "--resume run --log log.csv").status, 0);
  std::istringstream lines(file_text(folder_ / "log.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "step,epoch,loss,learning_rate,gradient_norm,tokens,seconds,accuracy,held_out_loss,"
            "held_out_accuracy");
  int step = 0;
  while (std::getline(lines, line)) {
    EXPECT_TRUE(line.starts_with(std::to_string(++step) + ",")) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 9) << line;
  }
  EXPECT_EQ(step, 30);
}

// A log that cannot be read, such as an endless device, is not read.
TEST_F(TrainingPrograms, ALogMayBeADevice) {
  ASSERT_EQ(run("train_reverse", kReverse + "--save run --max-steps 2").status, 0);
  ASSERT_EQ(::symlink("/dev/zero", (folder_ / "device").c_str()), 0);
  output_of("train_reverse", "--resume run --log device", "timeout 60");
}

TEST_F(TrainingPrograms, AStoppedRunWithoutAFolderSaysSo) {
  const std::string output = output_of("train_reverse", kReverse + "--max-steps 2");
  EXPECT_TRUE(contains(output, "stopped after step 2 of 30; nothing is saved without --save\n"));
}

TEST_F(TrainingPrograms, UnknownTokensAreNeitherBlanksNorGuesses) {
  // Most words are unknown: the blanked text shows each of them as one sign.
  const std::string words = kMaskedLm + "--tokenizer words --vocabulary-size 5 ";
  const std::string output = output_of("train_masked_lm", words + "--length 40");
  EXPECT_TRUE(contains(output, "masked: round \xef\xbf\xbd round _ \xef\xbf\xbd"));
  // Many batches here have no targets.
  output_of("train_masked_lm", words + "--length 2 --batch-size 1");
}

TEST_F(TrainingPrograms, TakeTheTokenizerThatIsNamed) {
  const std::string masked =
      output_of("train_masked_lm", kMaskedLm + "--tokenizer wordpiece --vocabulary-size 40");
  EXPECT_TRUE(contains(masked, "filled: "));
  output_of("train_classifier",
            kClassifier + "--tokenizer wordpiece --vocabulary-size 60 --save run");
  output_of("train_classifier", "--resume run --predict", "echo apple | ");
  const Outcome wrong = run("train_classifier", kClassifier + "--tokenizer nowhere");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_TRUE(contains(wrong.errors,
                       "--tokenizer: must be words, characters, wordpiece, or a file or "
                       "folder of a tokenizer, got 'nowhere'"));
}

TEST_F(TrainingPrograms, SayThatNobodyCanReadThem) {
  for (const char* where : {">/dev/full", ">&-"}) {
    const Outcome outcome = run("train_reverse", kReverse + "--log log.csv --save run 2>err.txt " +
                                                     std::string(where) + " #");
    EXPECT_EQ(outcome.status, 2) << where;
    const std::string errors = file_text(folder_ / "err.txt");
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << where << ": " << errors;
    EXPECT_TRUE(contains(errors, "standard output"));
    // It has trained and saved nevertheless, without stray lines.
    EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoint.safetensors")) << where;
    EXPECT_FALSE(contains(file_text(folder_ / "log.csv"), "epoch 1/3")) << where;
    fs::remove_all(folder_ / "run");
  }
  ASSERT_EQ(run("train_classifier", kClassifier + "--save run").status, 0);
  EXPECT_TRUE(fails("train_classifier", "--resume run --predict < .", "standard input"));
}

// A file is already on disk when a line on standard output announces it.
TEST_F(TrainingPrograms, SaveBeforeTheySaySo) {
  run("train_reverse", kReverse + "--epochs 100000 --save run | grep -m 1 -q 'epoch 1/' #");
  EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoint.safetensors"));
}

TEST_F(TrainingPrograms, RefuseBadInput) {
  const std::string rest = " --epochs 1 " + kTiny;
  EXPECT_TRUE(fails("train_classifier", "--train missing.tsv --save run" + rest, "missing.tsv"));
  EXPECT_FALSE(fs::exists(folder_ / "run")) << "without a file, there is no folder";
  fs::create_directory(folder_ / "run");
  EXPECT_TRUE(fails("train_classifier", "--train missing.tsv --save run" + rest, "missing.tsv"));
  EXPECT_TRUE(fs::is_empty(folder_ / "run")) << "a folder of the user stays";
  write("empty.tsv", "");
  write("bare.tsv", "a\tone\nb\n");
  write("bytes.tsv", "a\tone\nb\t\xff\n");
  write("other.tsv", "metal\tiron\n");
  expect_fails("train_classifier",
               {{"--train empty.tsv" + rest, "empty"},
                {"--train bare.tsv" + rest, "bare.tsv: line 2"},
                {"--train bytes.tsv" + rest, "bytes.tsv: line 2"},
                {"--train other.tsv" + rest,
                 "other.tsv: labels must be at least 2 different ones, got only 'metal'"},
                {"--train train.tsv --test other.tsv" + rest, "metal"},
                {"", "--train"},
                {kClassifier + "--width 9", "nhead must divide d_model 9, got 2"},
                {kClassifier + "--epochs 0", "--epochs"},
                {kClassifier + "--colour red", "--colour"},
                {kClassifier + "--seed -1", "--seed"},
                {kClassifier + "'--a\x1b[2Jb\nc'", "--a\\x1b[2Jb"},
                {kClassifier + "--save train.tsv", "train.tsv"},
                {kClassifier + "--log no/log.csv", "no/log.csv"}});
  for (const char* option : {"--lr", "--dropout", "--clip", "--warmup", "--word-dropout"}) {
    EXPECT_TRUE(fails("train_classifier", kClassifier + option + " nan", option));
    EXPECT_TRUE(fails("train_classifier", kClassifier + option + " -1", option));
  }
  write("short.txt", "ab");
  expect_fails("train_masked_lm", {{"", "--text"}, {"--text short.txt" + rest, "short.txt"}});
  // Also for options that are needed only at the end, before the training.
  for (const auto& [text, words] : {std::pair("123456789012345678901",
                                              "--fill: text must have at most 19 tokens, got 21; "
                                              "train with a larger --length"),
                                    std::pair("'\xff_'", "--fill")}) {
    EXPECT_TRUE(fails("train_masked_lm", kMaskedLm + "--fill " + text, words));
    EXPECT_FALSE(contains(file_text(folder_ / "out.txt"), "epoch"));
  }
}

TEST_F(TrainingPrograms, RefuseCheckpointsThatDoNotFit) {
  ASSERT_EQ(run("train_classifier", kClassifier + "--save run").status, 0);
  EXPECT_TRUE(fails("train_reverse", "--resume run", "train_classifier"));
  expect_fails("train_classifier",
               {
                   {"--resume run", "--train"},
                   {"--resume nowhere --train train.tsv", "nowhere"},
                   {"--resume run --train train.tsv --width 16", "--width"},
                   {"--resume run --train test.tsv", "examples must be those of the run"},
               });
  const std::string whole = file_text(folder_ / "run" / "checkpoint.safetensors");
  const fs::path file = folder_ / "run" / "checkpoint.safetensors";
  nn::Checkpoint old = nn::load_checkpoint(file);
  old.set("option.min-count", 2);
  nn::save_checkpoint(file, old);
  EXPECT_TRUE(fails("train_classifier", "--resume run --train train.tsv",
                    "options must be those of train_classifier, got 'option.min-count' = '2'"));
  write("run/checkpoint.safetensors", whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(
      fails("train_classifier", "--resume run --train train.tsv", "checkpoint.safetensors"));
}

// The options of an untrusted checkpoint are checked like those of a user.
TEST_F(TrainingPrograms, RefuseCheckpointsWithOtherNumbers) {
  ASSERT_EQ(run("train_reverse", kReverse + "--save run --max-steps 2").status, 0);
  const fs::path file = folder_ / "run" / "checkpoint.safetensors";
  const nn::Checkpoint good = nn::load_checkpoint(file);
  const std::array<std::array<std::string, 2>, 14> changes = {
      {{"option.layers", "-1"},
       {"option.layers", "1000000"},
       {"option.batch-size", "0"},
       {"option.length", "100000000000"},
       {"option.warmup", "-1"},
       {"option.dropout", "nan"},
       {"option.width", "8e0"},
       {"option.width", "1000000"},  // compared with the tensors before memory is allocated
       {"option.feed-forward", "1000000"},
       {"epochs", "4000000000000000000"},
       {"epochs", "0"},
       {"sampler.stream", "-1"},
       {"scheduler.step", "9007199254740992"},
       {"program", "\x1b[2J\n"}}};
  for (const auto& [name, value] : changes) {
    nn::Checkpoint bad = good;
    bad.set(name, value);
    nn::save_checkpoint(file, bad);
    EXPECT_TRUE(fails("train_reverse", "--resume run", "checkpoint.safetensors: "))
        << name << " " << value;
    EXPECT_FALSE(contains(file_text(folder_ / "err.txt"), "\x1b"));
  }
  nn::save_checkpoint(file, good);
  EXPECT_EQ(run("train_reverse", "--resume run").status, 0);
}

}  // namespace
}  // namespace tessera::test
