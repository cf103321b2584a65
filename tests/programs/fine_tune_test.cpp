// fine_tune as used by users: every task, saving and resuming, and errors.
#include "tessera/tensor/error.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class FineTune : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    std::string classes, values, tags, pairs, both;
    for (const std::string who : {"he", "she", "it", "the cat", "many people", "who", "what"}) {
      classes += "place\t" + who + " runs in the city\n" + "rest\t" + who + " sat on a mat\n";
      values += "2.5\t" + who + " runs in the city\n" + "-1\t" + who + " sat on a mat\n";
      tags += "paris\tB-LOC\ncity\tI-LOC\nis\tO\nbig\tO\n\n";
      tags += "she\tO\nlived\tO\nin\tO\nparis\tB-LOC\n\n";
      pairs += who + " runs\t" + who + " runs in the city\n" + who + " sat\t" + who + " is old\n";
      both += "yes\t" + who + " runs\tin the city\n" + "no\t" + who + " runs\ton a mat\n";
    }
    write("classes.tsv", classes);
    write("values.tsv", values);
    write("tags.tsv", tags);
    write("pairs.tsv", pairs);
    write("both.tsv", both);
  }

  static std::string bert(const std::string& arguments) {
    return with_model("bert", "--batch-size 4 --lr 0.01 --head-lr 0.02 " + arguments);
  }

  std::string weights(const std::string& folder) const {
    return file_text(folder_ / folder / "model.safetensors");
  }
};

/// The number after the last `name` of an output.
double last_number(const std::string& output, const std::string& name) {
  return std::stod(output.substr(output.rfind(name + " ") + name.size() + 1));
}

// Each task is learned as far as its own output shows, and another program opens the saved folder.
TEST_F(FineTune, EveryTaskIsLearnedAndSaved) {
  struct Case {
    std::string model, file, arguments, task;
    std::string opens;   // the saved folder
    double least, most;  // of the number at the end
  };
  const std::vector<Case> cases = {
      {"bert", "classes.tsv", "", "classification", "classify_text lines.txt", 0.9, 1},
      {"bert", "both.tsv", "--pair", "classification", "classify_text --pair pair.txt", 0.9, 1},
      {"bert", "values.tsv", "", "regression", "classify_text lines.txt", 0, 0.5},
      {"roberta", "values.tsv", "--fixed embeddings", "regression", "classify_text lines.txt", 0,
       0.5},
      {"bert", "tags.tsv", "", "tokens", "tag_tokens lines.txt", 0.9, 1},
      {"modernbert", "tags.tsv", "", "tokens", "tag_tokens lines.txt", 0.9, 1},
      {"sentence", "pairs.tsv", "--task pairs", "pairs", "embed lines.txt", 0.5, 1}};
  write("lines.txt", "she runs in the city\n");
  write("pair.txt", "she runs\tin the city\n");
  for (const Case& each : cases) {
    SCOPED_TRACE(each.model + " " + each.file);
    const std::string output = output_of(
        "fine_tune", with_model(each.model, "--train ") + each.file + " --test " + each.file +
                         " --epochs 25 --batch-size 4 --lr 0.01 --head-lr 0.02 " +
                         "--layer-decay 1 --save new " + each.arguments);
    EXPECT_TRUE(output.starts_with(each.task + ": 14 examples; ")) << output;
    const double last = last_number(output, each.most < 1 ? "error" : "accuracy");
    EXPECT_GE(last, each.least) << output;
    EXPECT_LE(last, each.most) << output;
    const std::size_t space = each.opens.find(' ');
    const std::string opened =
        output_of(each.opens.substr(0, space), "--model new" + each.opens.substr(space));
    EXPECT_NE(opened, "");
    fs::remove_all(folder_ / "new");
  }
}

// The answers of the saved folder for each line are those that the program's own test counted.
TEST_F(FineTune, TheFolderIsTheModelThatWasTested) {
  write("mixed.tsv", file_text(folder_ / "classes.tsv") + "place\tthe cat sat on a mat\n");
  const std::string outcome =
      output_of("fine_tune", bert("--train classes.tsv --test mixed.tsv --epochs 25 "
                                  "--save new --held-out mixed.tsv"));
  EXPECT_TRUE(contains(outcome, ", the best"));
  std::string texts;
  std::vector<std::string> labels;
  std::istringstream lines(file_text(folder_ / "mixed.tsv"));
  for (std::string line; std::getline(lines, line);) {
    labels.push_back(line.substr(0, line.find('\t')));
    texts += line.substr(line.find('\t') + 1) + '\n';
  }
  write("lines.txt", texts);
  double right = 0;
  std::istringstream answers(run("classify_text", "--model new lines.txt").output);
  for (const std::string& label : labels) {
    std::string answer;
    std::getline(answers, answer);
    right += answer.starts_with(label + "\t") ? 1 : 0;
  }
  EXPECT_NEAR(last_number(outcome, "accuracy"), right / 15, 1e-4);
  EXPECT_LT(right, 15);
}

// The same bytes are saved for any number of threads, with or without an interruption.
TEST_F(FineTune, AResumedRunEndsWithTheSameBits) {
  const std::string arguments = bert("--train tags.tsv --epochs 4 ");
  ASSERT_EQ(run("fine_tune", arguments + "--save whole --threads 1").status, 0);
  const std::string want = weights("whole");
  ASSERT_NE(want, "");
  const std::string first =
      output_of("fine_tune", arguments + "--save never --threads 2 --checkpoint cut --max-steps 6");
  EXPECT_TRUE(contains(first, "stopped after step 6 of 16; continue with --resume cut"));
  EXPECT_FALSE(fs::exists(folder_ / "never"));
  const std::string files = with_model("bert", "--train tags.tsv --save again ");
  const std::string second = output_of("fine_tune", files + "--resume cut --threads 2");
  EXPECT_EQ(weights("again"), want);
  EXPECT_FALSE(contains(second, "epoch 1/4"));
  EXPECT_TRUE(fails("fine_tune", files + "--resume cut --head-lr 1", "--head-lr must be "));
  EXPECT_TRUE(fails("fine_tune",
                    with_model("bert", "--train classes.tsv --save other --resume cut"),
                    "examples must be those of the run"));
}

TEST_F(FineTune, FilesThatAreWrongNameTheLine) {
  write("no_tab.tsv", "place\ta city\na river\n");
  write("unknown.tsv", "place\tparis\nplanet\tparis\n");
  write("one.tsv", "place\tparis\nplace\tcity\n");
  write("words.tsv", "1.5\tparis\nmany\tparis\n");
  write("no_tag.tsv", "paris\tB-LOC\n\nis\n");
  write("large.tsv", "1.5\tparis\n1e400\tcity\n");
  write("no_pair.tsv", "paris\tcity\nparis\t \n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--train no_tab.tsv",
       "no_tab.tsv: line 2: must be a label, a tab and a text, got no tab in 'a river'"},
      {"--train classes.tsv --test unknown.tsv",
       "unknown.tsv: line 2: label must be one of 'place, rest', got 'planet'"},
      {"--train one.tsv", "one.tsv: labels must be at least 2 different ones, got only 'place'"},
      {"--train words.tsv --task regression",
       "words.tsv: line 2: label must be a number, got 'many'"},
      {"--train no_tag.tsv --task tokens",
       "no_tag.tsv: line 3: must be a token, a tab and a label, got no tab in 'is'"},
      {"--train no_pair.tsv --task pairs",
       "no_pair.tsv: line 2: both texts of a pair must be non-empty"},
      {"--train no_tab.tsv --task pairs", "no_tab.tsv: line 2: must be two texts"},
      {"--train both.tsv", "both.tsv: lines must have 1 tab, got 2 in each; give --pair"},
      {"--train large.tsv", "large.tsv: line 2: label must be a number, got '1e400'"},
      {"--train classes.tsv --pair", "classes.tsv: line 1: must be a label, a tab, a text"},
      {"--train many.tsv", "give --task if they are classes"},
      {"--train absent.tsv", "absent.tsv"}};
  std::string many;
  for (int i = 0; i < 30; ++i) many += "who runs " + std::to_string(i) + "\tshe runs\n";
  write("many.tsv", many);
  for (const auto& [arguments, words] : cases) {
    EXPECT_TRUE(fails("fine_tune", bert(arguments + " --save new"), words));
  }
}

// Training does not begin if the folder cannot be saved, or if options contradict each other.
TEST_F(FineTune, WhatCannotEndWellDoesNotBegin) {
  fs::create_directories(folder_ / "full");
  write("full/notes.txt", "mine");
  write("file", "mine");
  fs::copy(golden_folder("bert"), folder_ / "old");
  ASSERT_EQ(run("fine_tune", bert("--train pairs.tsv --task pairs --epochs 1 --save deep")).status,
            0);
  write("deep/1_Pooling/notes.txt", "mine");
  const std::string train = "--train classes.tsv ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {train + "--save full", "full"},
      {train + "--save full --overwrite", "full"},
      {train + "--save old", "old"},
      {train + "--save old/ --overwrite",
       "must have no file that the new folder does not have, got '"},
      {"--train pairs.tsv --task pairs --save deep --overwrite", "got '1_Pooling/notes.txt'"},
      {train + "--save file", "file"},
      {train + "--save file/new", "file"},
      {train + "--save new --log new/log.csv",
       "--log must not be inside another output, got new/log.csv"},
      {train + "--save new --checkpoint new", "--checkpoint must not be inside another output"},
      {train, "--model DIR, --train FILE and --save DIR must all be given"},
      {train + "--save new --patience 2", "--patience must be combined with --held-out"},
      {train + "--save new --held-out classes.tsv --held-out-share 0.5",
       "--held-out must not be combined with --held-out-share"},
      {train + "--save new --held-out-share 0.01",
       "--held-out-share must hold out at least 1 of 14 examples, got 0.01"},
      {train + "--save new --fixed-layers 3",
       "--fixed-layers must be at most 2, the layers of the model, got 3"},
      {train + "--save new --max-length 41", "41"},
      {"--train pairs.tsv --task pairs --save new --shards 2",
       "--shards must be 1 for --task pairs"},
      {"--train pairs.tsv --task pairs --save new --fixed encoder",
       "--fixed must be nothing or embeddings for --task pairs, got encoder"},
      {"--train pairs.tsv --task pairs --save new --fixed-layers 2",
       "must be trained, got none; reduce frozen_layers"},
      {"--train tags.tsv --task tokens --pair --save new",
       "--task must be classification or regression for --pair"}};
  for (const auto& [arguments, words] : cases) {
    EXPECT_TRUE(fails("fine_tune", bert(arguments), words));
    EXPECT_FALSE(contains(file_text(folder_ / "out.txt"), "epoch")) << arguments;
  }
  EXPECT_EQ(file_text(folder_ / "full/notes.txt"), "mine");
  EXPECT_EQ(file_text(folder_ / "deep/1_Pooling/notes.txt"), "mine");
  EXPECT_TRUE(fails("fine_tune", "--model absent --train classes.tsv --save new", "absent"));
  EXPECT_TRUE(fails("fine_tune", with_model("static", "--train pairs.tsv --task pairs --save new"),
                    "must have layers to train"));
}

TEST_F(FineTune, WhatIsFixedIsSavedAsItWas) {
  struct Case {
    std::string option, learn;
    std::vector<std::string> fixed;  // parts of the names of tensors
  };
  const std::string embeddings = ".embeddings.", low = ".layer.0.", high = ".layer.1.";
  const auto before = load_safetensors(golden_folder("bert") / "model.safetensors").tensors;
  for (const Case& each : {Case{"--fixed nothing", "4182 of 4182", {}},
                           Case{"--fixed embeddings", "2550 of 4182", {embeddings}},
                           Case{"--fixed-layers 1", "1366 of 4182", {embeddings, low}},
                           Case{"--fixed encoder", "182 of 4182", {embeddings, low, high}}}) {
    const std::string output = output_of(
        "fine_tune", bert("--train classes.tsv --epochs 1 --save new --overwrite ") + each.option);
    EXPECT_TRUE(contains(output, str_cat("; ", each.learn, " parameters learn")));
    const auto after = load_safetensors(folder_ / "new/model.safetensors").tensors;
    for (const std::string& part : {embeddings, low, high}) {
      const bool is_fixed = std::ranges::count(each.fixed, part) > 0;
      for (const auto& [name, tensor] : before) {
        if (name.find(part) == std::string::npos) continue;
        EXPECT_EQ(bool{same_bits(after.at(name), tensor)}, is_fixed) << each.option << ": " << name;
      }
    }
  }
}

// Words without a token, here a left-to-right mark: no token has a label.
TEST_F(FineTune, FilesWithoutTargetsAreErrors) {
  const std::string none = "\u200e\tB-LOC\n\n\u200f\tO\n\n";
  write("none.tsv", none + none + "the\tO\n");
  write("only.tsv", none);
  write("empty.tsv", "");
  const std::string words = ": must have at least 1 token with a label, got none";
  const std::string tokens = "--task tokens --save new --epochs 1 ";
  expect_fails(
      {{"fine_tune", bert(tokens + "--train only.tsv"), "only.tsv" + words},
       {"fine_tune", bert(tokens + "--train tags.tsv --held-out only.tsv"), "only.tsv" + words},
       {"fine_tune", bert(tokens + "--train tags.tsv --test only.tsv"), "only.tsv" + words},
       {"fine_tune", bert(tokens + "--train none.tsv --held-out-share 0.8"), words},
       {"fine_tune", bert("--save new --train classes.tsv --task classification --test empty.tsv"),
        "empty.tsv: must have at least 1 byte"},
       {"fine_tune", bert("--save new --train values.tsv --held-out empty.tsv"),
        "empty.tsv: must have at least 1 byte"},
       {"fine_tune",
        with_model("sentence", "--save new --train pairs.tsv --task pairs --test empty.tsv"),
        "empty.tsv: must have at least 1 byte"},
       {"train_classifier", "--train classes.tsv --test empty.tsv",
        "empty.tsv: must have at least 1 byte"}});
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(FineTune, CountsTheTextsThatItCuts) {
  const std::string warning = " texts were truncated to 5 tokens; the rest was not read\n";
  const Outcome classes =
      run("fine_tune", bert("--train classes.tsv --save new --epochs 1 --max-length 5"));
  EXPECT_EQ(classes.status, 0);
  EXPECT_EQ(classes.errors, "fine_tune: warning: 14" + warning);
  const Outcome tags =
      run("fine_tune", bert("--train tags.tsv --save tags --epochs 1 --max-length 5"));
  EXPECT_EQ(tags.errors, "fine_tune: warning: 14" + warning);
  EXPECT_EQ(run("train_classifier", "--train classes.tsv --epochs 1 --max-words 4").errors,
            "train_classifier: warning: 14" + warning);
}

}  // namespace
}  // namespace tessera::test
