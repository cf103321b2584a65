// Untrusted input and wrong arguments: each gives one line that describes the error.
#include "examples/course/example.h"
#include "examples/programs/cli.h"
#include "tessera/nn/training/checkpoint.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr const char* kByteOrderMark = "\xef\xbb\xbf";
constexpr const char* kFile = "run/checkpoint.safetensors";

class ProgramErrors : public TrainingPrograms {
 protected:
  /// Saves a run of two steps in the folder "run".
  void save_run(const std::string& program, const std::string& arguments) const {
    output_of(program, arguments + "--save run --max-steps 2");
  }
  /// Writes the checkpoint of "run" again, with different values.
  void change_run(const std::vector<std::pair<std::string, std::string>>& changes) const {
    nn::Checkpoint checkpoint = nn::load_checkpoint(folder_ / kFile);
    for (const auto& [name, value] : changes) checkpoint.set(name, value);
    nn::save_checkpoint(folder_ / kFile, checkpoint);
  }
};

// Programs and examples: an op may have the name of the program, or begin with this name.
TEST(ErrorLine, NamesTheProgramOnce) {
  for (const auto& [op, line] : {std::pair("embed", "embed: x must be 1, got 2\n"),
                                 std::pair("embed_all", "embed: embed_all: x must be 1, got 2\n"),
                                 std::pair("matmul", "embed: matmul: x must be 1, got 2\n")}) {
    const auto error = [name = op] { fail(name, "x must be 1, got 2"); };
    testing::internal::CaptureStderr();
    EXPECT_EQ(examples::run_example("embed", error), 2);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), line);
    testing::internal::CaptureStderr();
    EXPECT_EQ(examples::report_error("embed", str_cat(op, ": x must be 1, got 2")), 2);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), line);
  }
}

TEST_F(ProgramErrors, NumbersArePlainDecimalNumbersWithinRange) {
  const std::map<std::string, std::vector<std::string>> cases = {
      {"--seed", {"18446744073709551616", "''", "0x10", "1.5", "' 1'", "'1 '", "+1", "one"}},
      {"--width", {"010", "0x8", "''", "8.0", "1\\'000", "99999999999999999999"}},
      {"--epochs", {"03"}},
      {"--max-steps", {"1e1"}},
      {"--lr", {"''", "0x1p-3", "1e999"}},
      {"--dropout", {"0.5x"}}};
  for (const auto& [option, values] : cases) {
    for (const std::string& value : values) {
      EXPECT_TRUE(fails("train_reverse", kReverse + option + " " + value, option)) << value;
    }
  }
  EXPECT_EQ(run("train_reverse", kReverse + "--seed 18446744073709551615 --lr 1e-3").status, 0);
  EXPECT_EQ(run("train_reverse", kReverse + "--dropout .5 --lr 0.010 --layers 0").status, 0);
}

TEST_F(ProgramErrors, OptionsThatDoNotExistAreNamed) {
  const std::string words = "option: must be one that --help lists, got ";
  expect_fails({{"embed", "--modl folder lines.txt", words + "'--modl'"},
                {"embed", "--model folder --outptu x lines.txt", words + "'--outptu'"},
                {"embed", "-model folder lines.txt", words + "'-model'"},
                {"fine_tune", "--model a --train b --save c --epoch 3", words + "'--epoch'"},
                {"inspect_checkpoint", "--jsn file", words + "'--jsn'"},
                {"tokenize", "--max-lenght=4 --model a b", words + "'--max-lenght=4'"}});
  EXPECT_TRUE(fails("embed", "--model folder a b", "not expected: b"));
  EXPECT_TRUE(fails("embed", "--model folder -- --a", "folder"));
}

// Programs without options take files and folders only.
TEST_F(ProgramErrors, HelpOfExamplesIsNoFolder) {
  for (const std::string program : {"make_small_model", "000_see_it_work", "002_one_head",
                                    "007_masks", "009_minilm_by_hand", "014_a_model_learns"}) {
    const Outcome help = run(program, "--help");
    EXPECT_EQ(help.status, 0);
    EXPECT_TRUE(help.output.starts_with("usage: " + program + " ")) << help.output;
    EXPECT_TRUE(fails(program, "--hepl", "FOLDER")) << program;
    EXPECT_TRUE(fails(program, "-o", "'-o'")) << program;
  }
  EXPECT_FALSE(fs::exists(folder_ / "--help") || fs::exists(folder_ / "--hepl"));
}

TEST_F(ProgramErrors, LinksInACircle) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  fs::create_directory(folder_ / "model");
  fs::create_symlink("config.json", folder_ / "model/config.json");
  write("lines.txt", "the cat\n");
  const std::string words = "Too many levels of symbolic links\n";
  for (const std::string model : {"a", "model"}) {
    for (const std::string program : {"embed", "classify_text", "tag_tokens", "fill_mask"}) {
      const std::string error = run(program, "--model " + model + " lines.txt").errors;
      EXPECT_TRUE(error.starts_with(program + ": " + model + "/")) << error;
      EXPECT_TRUE(error.ends_with(": " + words)) << error;
      EXPECT_FALSE(contains(error, "filesystem error")) << error;
    }
  }
  expect_fails({{"embed", "--model x a", ""}, {"009_minilm_by_hand", "a", "a"}});
}

TEST_F(ProgramErrors, AnEmptyPathIsNoPath) {
  for (const char* option : {"--save", "--resume", "--log"}) {
    EXPECT_TRUE(fails("train_reverse", kReverse + option + " ''", option));
  }
  EXPECT_TRUE(fails("train_classifier", kClassifier + "--test ''", "--test"));
  EXPECT_TRUE(fails("train_masked_lm", kTiny + "--text ''", "--text"));
}

TEST_F(ProgramErrors, ACheckpointWithoutLabels) {
  save_run("train_classifier", kClassifier);
  change_run({{"labels", ""}});
  EXPECT_TRUE(fails("train_classifier", "--resume run --predict < train.tsv",
                    "'labels' must not be empty"));
  EXPECT_TRUE(
      fails("train_classifier", "--resume run --train train.tsv", "'labels' must not be empty"));
}

// The options in a file are compared with its tensors before memory is allocated.
TEST_F(ProgramErrors, ASmallCheckpointAsksForLittleMemory) {
  save_run("train_classifier", kClassifier);
  const std::string classifier = file_text(folder_ / kFile);
  std::string labels;
  for (int i = 0; i < 2000; ++i) labels += std::to_string(i) + "\n";
  for (const auto& [option, value] : {std::pair("labels", labels),
                                      {"option.width", "1000000"},
                                      {"option.max-words", "0"},
                                      {"option.word-dropout", "0.0.1"}}) {
    change_run({{option, value}});
    for (const char* task : {"--predict < train.tsv", "--train train.tsv"}) {
      EXPECT_TRUE(fails("train_classifier", std::string("--resume run ") + task,
                        "checkpoint.safetensors: "))
          << option;
    }
    write(kFile, classifier);
  }
}

// A file in which each tensor is small, but not the model that its options describe.
TEST_F(ProgramErrors, AFewNumbersOfACheckpointDoNotMakeALargeTable) {
  save_run("train_classifier",
           "--layers 0 --width 2000 --heads 1 --batch-size 4 "
           "--max-words 5 --epochs 1 --train train.tsv ");
  change_run({{"option.max-words", "100000"}});
  EXPECT_TRUE(fails("train_classifier", "--resume run --predict < train.tsv",
                    "checkpoint.safetensors: the model must have at least the "));
  EXPECT_TRUE(
      fails("train_masked_lm", "--text text.txt --width 2000 --length 100000", "100000 x 2000"));
}

TEST_F(ProgramErrors, WhatDoesNotFitIntoMemorySaysSo) {
  expect_fails(
      {{"train_reverse", kReverse + "--width 50000000", "--width 50000000"},
       {"train_reverse", kReverse + "--width 50000000", "GB of weights, gradients and moments"},
       {"train_reverse", kReverse + "--feed-forward 900000000000", "--feed-forward"},
       {"train_reverse", kReverse + "--width 512 --feed-forward 900000000",
        "--layers 1, --width 512, --feed-forward 900000000 and 26 vectors "},
       {"train_reverse", kReverse + "--width 512 --feed-forward 900000000",
        "; choose a smaller model"},
       {"train_reverse", kReverse + "--layers 1000000000", "--layers 1000000000"},
       {"train_reverse", kReverse + "--layers 0 --width 50000000", "--width"},
       {"train_classifier", kClassifier + "--width 50000000", "--width 50000000"},
       {"train_masked_lm", kMaskedLm + "--width 512 --feed-forward 900000000",
        "--feed-forward 900000000"}});
}

#if !defined(TESSERA_SANITIZED)
// A step that is too large is also reported: here 32 sequences of 1500 tokens.
TEST_F(ProgramErrors, AStepThatDoesNotFitIntoMemory) {
  if (std::string(TESSERA_EMULATOR).empty()) {
    const std::string arguments =
        "--text text.txt --epochs 1 --layers 1 --width 64 --heads 1 "
        "--feed-forward 60000 --batch-size 32 --length 1500";
    const std::string limit = "ulimit -v 400000 && OMP_NUM_THREADS=1";
    for (const char* words : {"--batch-size", "float32", ", 60000)", " bytes"}) {
      EXPECT_TRUE(fails("train_masked_lm", arguments, words, limit));
    }
  }
}
#endif

TEST_F(ProgramErrors, ATableOfManyLabelsIsNotPrinted) {
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "class" + std::to_string(i) + "\tone\n";
  write("many.tsv", many);
  const std::string output =
      output_of("train_classifier",
                "--train many.tsv --test many.tsv --epochs 1 " + kTiny + "--batch-size 3000");
  EXPECT_LT(output.size(), 2000U);
  EXPECT_TRUE(contains(output, "3000 labels"));
  EXPECT_TRUE(contains(output, "\ntest accuracy "));
}

TEST_F(ProgramErrors, AByteOrderMarkIsNoPartOfTheFirstWord) {
  ASSERT_EQ(run("train_classifier", kClassifier + "--epochs 30 --lr 0.01 --save run").status, 0);
  write("lines.txt",
        std::string(kByteOrderMark) + "hammer\r\npears\n" + kByteOrderMark + "pears\n");
  const std::string output = output_of("train_classifier", "--resume run --predict < lines.txt");
  EXPECT_TRUE(output.starts_with("tool\thammer\nfruit\tpears\n")) << output;
  // In the middle of a text it is a character.
  EXPECT_TRUE(output.ends_with(std::string("\t") + kByteOrderMark + "pears\n")) << output;
}

TEST_F(ProgramErrors, TheLogIsNotTheCheckpoint) {
  save_run("train_reverse", kReverse);
  const std::string want = file_text(folder_ / kFile);
  fs::create_symlink("run", folder_ / "link");
  fs::create_symlink(kFile, folder_ / "symbolic");
  fs::create_hard_link(folder_ / kFile, folder_ / "hard");
  for (const char* log : {kFile, "./run/../run/checkpoint.safetensors",
                          "link/checkpoint.safetensors", "symbolic", "hard"}) {
    EXPECT_TRUE(fails("train_reverse", "--resume run --log " + std::string(log), "--log"));
    EXPECT_TRUE(fails("train_reverse", kReverse + "--save run --overwrite --log " + log, "--log"));
    EXPECT_TRUE(
        fails("train_reverse", "--resume run --save elsewhere --log " + std::string(log), "--log"));
    EXPECT_TRUE(file_text(folder_ / kFile) == want) << log;
  }
  // Nor the future checkpoint.
  fs::create_directory(folder_ / "new");
  fs::create_symlink("new/checkpoint.safetensors", folder_ / "dangling");
  for (const char* log : {"new/checkpoint.safetensors", "dangling"}) {
    EXPECT_TRUE(fails("train_reverse", kReverse + "--save new --log " + log, "--log"));
    EXPECT_FALSE(fs::exists(folder_ / "new/checkpoint.safetensors"));
  }
}

// A text argument is not a file, even if it could be a name.
TEST_F(ProgramErrors, TheLogMayHaveTheNameOfAText) {
  EXPECT_EQ(run("train_masked_lm", kMaskedLm + "--fill a_b --log a_b").status, 0);
}

TEST_F(ProgramErrors, FoldersThatCannotBeMade) {
  fs::create_directories(folder_ / kFile);
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"--save train.tsv/run", "train.tsv/run: "},
           {"--save train.tsv", "train.tsv: "},
           {"--save /proc/no/run", "/proc/no/run: "},
           {"--save " + std::string(300, 'x'), "xxx"},
           {"--save run", "checkpoint.safetensors: "},
           {"--log run", "run: "},
           {"--log train.tsv/log.csv", "train.tsv/log.csv: "}}) {
    EXPECT_TRUE(fails("train_reverse", kReverse + arguments, words));
    EXPECT_FALSE(contains(file_text(folder_ / "err.txt"), "filesystem error"));
    EXPECT_FALSE(contains(file_text(folder_ / "out.txt"), "epoch")) << "it has trained";
  }
}

TEST_F(ProgramErrors, PicturesWithoutAFolder) {
  const std::vector<std::pair<std::string, std::string>> pictures = {
      {"000_see_it_work", "000_attention"},
      {"001_strided_tensor", "001_views"},
      {"002_one_head", "002_head"},
      {"003_scale", "003_scale"},
      {"004_heads", "004_heads"},
      {"005_positions", "005_sines"},
      {"007_masks", "007_masks"},
      {"012_backward_by_hand", "012_attention"},
      {"013_a_training_loop_by_hand", "013_losses"},
      {"014_a_model_learns", "014_learning"}};
  for (const auto& [lesson, picture] : pictures) {
    EXPECT_TRUE(fails(lesson, "nowhere", "nowhere/" + picture + ".svg: "));
  }
}

TEST_F(ProgramErrors, AnUnknownInstructionSet) {
  const std::string before = "TESSERA_ISA=mmx";
  EXPECT_TRUE(fails("train_reverse", kReverse,
                    "TESSERA_ISA: instruction set must be one of baseline", before));
  int count = 0;
  for (const char* folder : {"course", "notebooks"}) {
    for (const auto& entry :
         fs::directory_iterator(fs::path(TESSERA_SOURCE_DIR) / "examples" / folder)) {
      const std::string example = entry.path().stem();
      if (entry.path().extension() != ".cpp" || !std::isdigit(example[0])) continue;
      ++count;
      EXPECT_TRUE(
          fails(example, "", "TESSERA_ISA: instruction set must be one of baseline", before));
      EXPECT_EQ(file_text(folder_ / "out.txt"), "");
    }
  }
  EXPECT_GT(count, 10);
  EXPECT_EQ(run("002_hello_world", "", "TESSERA_ISA=").status, 0);
}

}  // namespace
}  // namespace tessera::test
