// Outputs of programs: never over an input or another output, no output that cannot be written, and
// no success if standard output is full.
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/io/safetensors.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/training_programs.h"
#include "tests/support/golden_models.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class Outputs : public TrainingPrograms {
 protected:
  void SetUp() override {
    TrainingPrograms::SetUp();
    write("lines.txt", "the cat sat\nriver\n");
    write("blanks.txt", "the cat sat on a [MASK] .\n");
    write("a.csv", "step,loss\n1,5\n");
    fs::copy(golden_folder("sentence"), folder_ / "m", fs::copy_options::recursive);
    fs::copy(golden_folder("bert"), folder_ / "bert");
    copy_for_questions(folder_ / "questions");
    fs::copy(golden_folder("reranker"), folder_ / "reranker");
    const GoldenCase golden("encoder_pre_gelu_causal_padding_8");
    save_safetensors(folder_ / "w.safetensors", golden.state());
    save_npy(folder_ / "x.npy", golden.input("src"));
    encoder_ = "--weights w.safetensors --input x.npy --heads " +
               std::to_string(golden.option("nhead")) + " --norm-first --activation gelu ";
  }

  /// All files below the folder with their contents, except the output of the calls themselves.
  std::vector<std::string> snapshot() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || name == "out.txt" || name == "err.txt") continue;
      files.push_back(entry.path().string() + ": " + file_text(entry.path()));
    }
    std::ranges::sort(files);
    return files;
  }

  void expect_refused(const std::vector<Refusal>& calls) const {
    const std::vector<std::string> before = snapshot();
    for (const Refusal& each : calls) {
      EXPECT_TRUE(fails(each.program, each.arguments, each.words));
      EXPECT_EQ(file_text(folder_ / "out.txt"), "") << each.arguments;
      EXPECT_TRUE(snapshot() == before) << each.program << ' ' << each.arguments;
    }
  }

  std::string encoder_;
};

TEST_F(Outputs, AreNoInputs) {
  fs::create_symlink("lines.txt", folder_ / "symbolic.txt");
  fs::create_hard_link(folder_ / "lines.txt", folder_ / "hard.txt");
  fs::create_directory_symlink("m", folder_ / "link");
  fs::create_hard_link(folder_ / "m/model.safetensors", folder_ / "weights");
  fs::rename(folder_ / "bert/vocab.txt", folder_ / "blob");  // the layout of the hub's cache
  fs::create_symlink("../blob", folder_ / "bert/vocab.txt");
  fs::create_symlink("m/added_tokens.json", folder_ / "config");  // the target does not exist
  fs::copy(folder_ / "lines.txt", folder_ / "x.html");
  const std::string embed = "--model m lines.txt --output ";
  expect_refused(
      {{"embed", embed + "lines.txt",
        "--output must not be an input, got lines.txt (FILE lines.txt)"},
       {"embed", embed + "./m/../lines.txt", "must not be an input"},
       {"embed", embed + "symbolic.txt", "must not be an input"},
       {"embed", embed + "hard.txt", "must not be an input"},
       {"embed", "--model m symbolic.txt --output lines.txt", "must not be an input"},
       {"embed", "--model m --output lines.txt < lines.txt", "(standard input)"},
       {"embed", embed + "m/model.safetensors",
        "--output must not be a file of an input, got m/model.safetensors (--model m)"},
       {"embed", embed + "link/1_Pooling/config.json", "a file of an input"},
       {"embed", embed + "m/merges.txt", "a file of an input"},
       {"embed", "--model link lines.txt --output m/tokenizer.model", "a file of an input"},
       {"embed", embed + "weights", "a file of an input"},
       {"embed", embed + "config", "a file of an input"},
       {"embed", "--model m x.html --attention x.html", "--attention must not be an input"},
       {"embed", "--model m lines.txt --profile lines.txt", "--profile must not be an input"},
       {"tag_tokens", "--model bert lines.txt --attention blob", "a file of an input"},
       {"classify_text", "--model bert x.html --attention x.html", "--attention must not be"},
       {"fill_mask", "--model bert x.html --attention x.html", "--attention must not be"},
       {"rerank", "--model reranker --query a x.html --attention x.html", "--attention must not"},
       {"answer", "--model questions --question a x.html --attention x.html", "--attention must"},
       {"run_encoder", encoder_ + "--output w.safetensors", "must not be an input"},
       {"run_encoder", encoder_ + "--output x.npy", "must not be an input"},
       {"run_encoder", encoder_ + "--output y.npy --attention-output x.npy",
        "--attention-output must not be an input, got x.npy (--input x.npy)"},
       {"compare_runs", "a.csv --report a.csv",
        "--report must not be an input, got a.csv (RUN a.c"},
       {"train_classifier", kClassifier + "--log ./train.tsv", "--log must not be an input"},
       {"train_classifier", kClassifier + "--log test.tsv", "(--test test.tsv)"},
       {"train_masked_lm", kMaskedLm + "--log text.txt", "(--text text.txt)"},
       {"train_classifier", kClassifier + "--report ./train.tsv",
        "--report must not be an input, got ./train.tsv (--train train.tsv)"},
       {"train_masked_lm", kMaskedLm + "--report text.txt", "--report must not be an input"},
       {"fine_tune", "--model bert --train train.tsv --save n --log bert/vocab.txt", "an input"},
       {"fine_tune", "--model bert --train train.tsv --save n --report train.tsv", "an input"}});
}

TEST_F(Outputs, AreNotOneFile) {
  fs::create_symlink("y.html", folder_ / "dangling");
  fs::create_directory(folder_ / "run");
  expect_refused(
      {{"embed", "--model m lines.txt --output y.html --attention y.html",
        "must not be another output, got y.html (--"},
       {"embed", "--model m lines.txt --output dangling --attention y.html", "another output"},
       {"embed", "--model m lines.txt --output y.npy --profile y.npy", "another output"},
       {"run_encoder", encoder_ + "--output y.npy --attention-output run/../y.npy", "another outp"},
       {"train_reverse", kReverse + "--log a --report a",
        "--log must not be another output, got a (--report a)"},
       {"train_reverse", kReverse + "--save run --report run/checkpoint.safetensors",
        "--report must not be the checkpoint"},
       {"train_reverse", kReverse + "--save run --profile run/checkpoint.safetensors",
        "--profile must not be the checkpoint"},
       {"fine_tune", "--model bert --train train.tsv --save new --report new/page.html",
        "--report must not be inside another output, got new/page.html (--save new)"}});
  EXPECT_EQ(run("embed", "--model m lines.txt --output y.npy >y.npy 2>err.txt #").status, 2);
  EXPECT_TRUE(contains(file_text(folder_ / "err.txt"), "(standard output)"));
}

// A model's folder may have other files too: only the files of models are inputs.
TEST_F(Outputs, MayBeInTheFolderOfTheModel) {
  fs::copy(golden_folder("sentence"), folder_, fs::copy_options::recursive);
  const std::string embed = "--model . lines.txt --attention a.html --output ";
  for (int i = 0; i < 2; ++i) {  // and again, over the first
    output_of("embed", embed + "./vectors.npy");
  }
  EXPECT_EQ(load_npy(path("vectors.npy")).size(0), 2);
  expect_refused({{"embed", embed + "./vocab.txt",
                   "--output must not be a file of an input, got ./vocab.txt (--model .)"}});
}

// The folder that the program makes for its checkpoint may have its other outputs.
TEST_F(Outputs, MayBeInTheFolderOfTheCheckpoint) {
  output_of("train_reverse", kReverse +
                                 "--save run --log run/log.csv --report "
                                 "run/page.html");
  for (const char* name : {"log.csv", "page.html", "checkpoint.safetensors"}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / name)) << name;
  }
}

// The inputs also have errors, which would be found later.
TEST_F(Outputs, ThatCannotBeWrittenAreRefusedBeforeTheWork) {
  write("bad.txt", "\xff\n");
  const std::string embed = "--model m bad.txt --output ";
  expect_refused(
      {{"embed", embed + "none/y.npy", "none/y.npy: "},
       {"embed", embed + "lines.txt/y.npy", "lines.txt/y.npy: "},
       {"embed", embed + "m/..", "m/..: "},
       {"embed", embed + "/dev/null", "/dev/null: "},
       {"embed", embed + "/proc/y.npy", "/proc/y.npy: "},
       {"embed", embed + std::string(300, 'x'), "xxx: "},
       {"tag_tokens", "--model bert bad.txt --attention none/a.html", "none/a.html: "},
       {"run_encoder", encoder_ + "--output y.npy --attention-output none/a.npy", "none/a.npy: "},
       {"compare_runs", "a.csv bad.txt --report none/a.html", "none/a.html: "},
       {"train_reverse", kReverse + "--profile none/p.json", "none/p.json: "},
       {"train_reverse", kReverse + "--profile p.txt", "--profile: must end in .json, got 'p.txt'"},
       {"train_reverse", kReverse + "--report none/a.html", "none/a.html: "}});
}

TEST_F(Outputs, AFullStandardOutputIsAnError) {
  const std::string weights = "'" + (golden_folder("bert") / "model.safetensors").string() + "'";
  const std::vector<Refusal> calls = {
      {"answer", "--model questions --question 'the cat' lines.txt", ""},
      {"classify_text", "--model bert lines.txt", ""},
      {"compare_runs", "a.csv", ""},
      {"embed", "--model m lines.txt", ""},
      {"fill_mask", "--model bert blanks.txt", ""},
      {"fine_tune", "--model bert --train train.tsv --epochs 1 --save new", ""},
      {"inspect_checkpoint", weights, ""},
      {"rerank", "--model reranker --query 'the cat' lines.txt", ""},
      {"run_encoder", encoder_ + "--output y.npy", ""},
      {"tag_tokens", "--model bert lines.txt", ""},
      {"tokenize", "--model bert lines.txt", ""},
      {"train_classifier", kClassifier, ""},
      {"train_masked_lm", kMaskedLm, ""},
      {"train_reverse", kReverse, ""}};
  for (const Refusal& each : calls) {
    for (const std::string& arguments : {std::string("--help"), each.arguments}) {
      const int status = run(each.program, arguments + " >/dev/full 2>err.txt #").status;
      EXPECT_EQ(status, 2) << each.program << ' ' << arguments;
      EXPECT_EQ(file_text(folder_ / "err.txt"),
                each.program + ": standard output: cannot be written completely\n");
    }
  }
}

}  // namespace
}  // namespace tessera::test
