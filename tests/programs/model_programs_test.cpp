// The programs that use pretrained models, on small folders: the references in golden/folders, and
// one-line errors.
#include <regex>

#include "tensor/io/json.h"
#include "tensor/io/safetensors.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr double kTolerance = 1e-5;

class ModelPrograms : public Programs {
 protected:
  static Json tasks(const std::string& folder) {
    return read_json(golden_folder(folder) / "tasks.json");
  }

  /// The objects that a program prints for these lines.
  std::vector<Json> ask(const std::string& program, const fs::path& model, const std::string& lines,
                        const std::string& arguments = "") const {
    write("lines.txt", lines);
    const std::string outcome =
        output_of(program, "--model '" + model.string() + "' --json " + arguments + " < lines.txt");
    std::vector<Json> objects;
    std::istringstream output(outcome);
    for (std::string line; std::getline(output, line);) {
      objects.push_back(parse_json(line, program));
    }
    return objects;
  }
};

TEST_F(ModelPrograms, ClassifyTextSaysWhatPipelinesSay) {
  const Json want = tasks("bert");
  std::string lines, pairs;
  for (const Json& text : want.at("texts").items()) lines += std::string(text.text()) + '\n';
  for (const Json& pair : want.at("pairs").items()) {
    pairs += str_cat(pair.at("texts").item(0).text(), '\t', pair.at("texts").item(1).text(), '\n');
  }
  const auto compare = [](const std::vector<Json>& got, const std::vector<Json>& scores) {
    ASSERT_EQ(got.size(), scores.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Json classes = got[i].at("classes");
      ASSERT_EQ(classes.size(), scores[i].size());
      double before = 1;
      for (const Json& each : classes.items()) {
        EXPECT_NEAR(each.number("score"), scores[i].number(each.text("label")), kTolerance);
        EXPECT_LE(each.number("score"), before);
        before = each.number("score");
      }
    }
  };
  std::vector<Json> of_texts, of_pairs;
  for (const Json& scores : want.at("classes").at("single_label_classification").items()) {
    of_texts.push_back(scores);
  }
  for (const Json& pair : want.at("pairs").items()) of_pairs.push_back(pair.at("classes"));
  compare(ask("classify_text", golden_folder("bert"), lines, "--top 9 --batch-size 2"), of_texts);
  compare(ask("classify_text", golden_folder("bert"), pairs, "--top 9 --pair"), of_pairs);
}

TEST_F(ModelPrograms, TagTokensSaysWhatPipelinesSay) {
  const Json want = tasks("bert").at("tags");
  std::string lines;
  for (const Json& text : want.items()) lines += text.text("text") + '\n';
  for (const std::string strategy : {"none", "simple", "average"}) {
    const std::vector<Json> got =
        ask("tag_tokens", golden_folder("bert"), lines, "--aggregation " + strategy);
    ASSERT_EQ(static_cast<index_t>(got.size()), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Json text = want.item(static_cast<index_t>(i));
      const Json tags = got[i].at("tags");
      const Json reference = text.at(strategy);
      ASSERT_EQ(tags.size(), reference.size()) << text.text("text");
      for (index_t n = 0; n < tags.size(); ++n) {
        EXPECT_EQ(tags.item(n).text("label"), reference.item(n).text("label"));
        EXPECT_NEAR(tags.item(n).number("score"), reference.item(n).number("score"), kTolerance);
      }
    }
  }
}

TEST_F(ModelPrograms, AnswerSaysWhatPipelinesSay) {
  copy_for_questions(folder_ / "model");
  for (const Json& each : tasks("bert").at("answers").items()) {
    const std::string line = each.text("question") + '\t' + each.text("context") + '\n';
    const std::string options = each.boolean("impossible") ? " --allow-no-answer" : "";
    const std::vector<Json> got = ask("answer", "model", line, "--pair" + options);
    ASSERT_EQ(got.size(), 1U);
    const Json answer = got[0].at("answers").item(0);
    EXPECT_EQ(answer.text("text"), each.at("answer").text("answer"));
    EXPECT_NEAR(answer.number("score"), each.at("answer").number("score"), kTolerance);
  }
}

TEST_F(ModelPrograms, FillMaskSaysWhatPipelinesSay) {
  const Json want = tasks("bert").at("blanks");
  for (const Json& each : want.items()) {
    const std::vector<Json> got =
        ask("fill_mask", golden_folder("bert"), each.text("text") + '\n', "--top 5");
    ASSERT_EQ(got.size(), 1U);
    const Json fillings = got[0].at("blanks").item(0).at("fillings");
    const Json reference = each.at("fills");
    ASSERT_EQ(fillings.size(), reference.size());
    for (index_t n = 0; n < fillings.size(); ++n) {
      EXPECT_EQ(fillings.item(n).integer("id"), reference.item(n).integer("id"));
      EXPECT_NEAR(fillings.item(n).number("score"), reference.item(n).number("score"), kTolerance);
    }
  }
}

TEST_F(ModelPrograms, RerankScoresPairs) {
  for (const Json& pair : tasks("reranker").at("pairs").items()) {
    const std::string text = std::string(pair.at("texts").item(1).text());
    const std::vector<Json> got = ask("rerank", golden_folder("reranker"), text + "\nzebra\n",
                                      str_cat("--query '", pair.at("texts").item(0).text(), "'"));
    ASSERT_EQ(got.size(), 2U);
    EXPECT_GE(got[0].number("score"), got[1].number("score"));
    const Json& found = got[got[0].integer("line") == 1 ? 0 : 1];
    EXPECT_EQ(found.text("text"), text);
    EXPECT_NEAR(found.number("score"), pair.number("score"), kTolerance);
  }
}

TEST_F(ModelPrograms, TheTablesThatPeopleRead) {
  const std::string bert = with_model("bert");
  write("lines.txt", "The cat sat on a mat.\n");
  EXPECT_EQ(run("classify_text", bert + "lines.txt").output,
            "B-LOC\t0.3266\tThe cat sat on a mat.\n");
  EXPECT_TRUE(
      run("tag_tokens", bert + "lines.txt").output.starts_with("1\tPER\t0.4121\t0-3\tThe\n"));
  copy_for_questions(folder_ / "model");
  EXPECT_EQ(run("answer", "--model model --question 'where is the cat' lines.txt").output,
            "0.0371\t4-14\tcat sat on\n");
  write("blanks.txt", "the cat sat on a [MASK] .\n");
  EXPECT_TRUE(run("fill_mask", bert + "--top 1 blanks.txt").output.starts_with("0.0891\t"));
  write("lines.txt", "a mat\nthe city\n");
  const Outcome ranked =
      run("rerank", with_model("reranker", "--query 'what is a cat' --top 1 lines.txt"));
  EXPECT_TRUE(std::regex_match(ranked.output, std::regex("0[.]\\d{4}\t[12]\t(a mat|the city)\n")))
      << ranked.output << ranked.errors;
}

TEST_F(ModelPrograms, TheErrorOfThePageIsTheProgramS) {
  fs::copy(golden_folder("bert"), folder_ / "deberta-v3-base");
  const std::string config = file_text(folder_ / "deberta-v3-base/config.json");
  write("deberta-v3-base/config.json",
        std::regex_replace(config, std::regex("\"bert\""), "\"deberta-v2\""));
  write("lines.txt", "the cat\n");
  const std::string error = run("embed", "--model deberta-v3-base lines.txt").errors;
  EXPECT_TRUE(error.starts_with("embed: deberta-v3-base/config.json: model_type: ")) << error;
  const std::string page = file_text(fs::path(TESSERA_SOURCE_DIR) / "examples/programs/README.md");
  EXPECT_TRUE(contains(page, "```text\n" + error + "```")) << error;
}

TEST_F(ModelPrograms, WhatIsWrongWithAFolderIsOneLine) {
  fs::copy(golden_folder("bert"), folder_ / "model", fs::copy_options::recursive);
  write("lines.txt", "the cat\n");
  write("pairs.txt", "the cat\tthe mat\n");
  const std::string config = file_text(folder_ / "model/config.json");
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"classify_text", "--model model lines.txt"},
      {"tag_tokens", "--model model lines.txt"},
      {"answer", "--model model --question who lines.txt"},
      {"fill_mask", "--model model lines.txt"},
      {"rerank", "--model model --query who lines.txt"}};
  const auto all_fail = [&](const std::string& words) {
    for (const auto& [program, arguments] : commands) {
      EXPECT_TRUE(fails(program, arguments, words));
    }
  };
  const auto with = [&](const std::string& from, const std::string& to, const std::string& words) {
    write("model/config.json", std::regex_replace(config, std::regex(from), to));
    all_fail("config.json: " + words);
  };
  with("\"bert\"", "\"deberta-v2\"", "model_type: ");
  with("\"vocab_size\": 92", "\"vocab_size\": \"many\"", "vocab_size: must be");
  with("\"hidden_size\": 12", "\"hidden_size\": 13", "");
  write("model/config.json", config);
  fs::rename(folder_ / "model/model.safetensors", folder_ / "model/away");
  all_fail("model.safetensors");
  fs::rename(folder_ / "model/away", folder_ / "model/model.safetensors");
  fs::remove(folder_ / "model/vocab.txt");
  all_fail("model");
  fs::rename(folder_ / "model/config.json", folder_ / "model/away");
  all_fail("config.json: cannot open");
  fs::remove_all(folder_ / "model");
  all_fail("model");
  const std::string bert = with_model("bert");
  EXPECT_TRUE(fails("answer", bert + "lines.txt",
                    "either --question or --pair must be given, got neither"));
  EXPECT_TRUE(fails("answer", bert + "--pair lines.txt", "lines.txt: line 1: must be two texts"));
  EXPECT_TRUE(fails("classify_text", bert + "--pair lines.txt", "lines.txt: line 1: must be two"));
  EXPECT_TRUE(fails("fill_mask", bert + "lines.txt",
                    "lines.txt: line 1: must contain [MASK], got 'the cat'"));
  EXPECT_TRUE(fails("rerank", bert + "lines.txt", "--query"));
  // A reranker has one score; this classifier has five.
  EXPECT_TRUE(fails("rerank", bert + "--query who lines.txt", "5"));
  EXPECT_TRUE(fails("tag_tokens", bert + "--aggregation words lines.txt", "--aggregation"));
}

// All refuse texts that are too long for the model, with the same message.
TEST_F(ModelPrograms, MoreTokensThanTheModelReadsAreRefused) {
  copy_for_questions(folder_ / "questions");
  write("lines.txt", "the cat [MASK]\n");
  write("labels.tsv", "yes\tthe cat\nno\ta mat\n");
  const std::string bert = with_model("bert");
  const std::string sentence = with_model("sentence");
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"classify_text", bert + "lines.txt --max-length "},
      {"tag_tokens", bert + "lines.txt --max-length "},
      {"fill_mask", bert + "lines.txt --max-length "},
      {"rerank", with_model("reranker", "--query a lines.txt --max-length ")},
      {"answer", "--model questions --question who lines.txt --window "},
      {"embed", sentence + "lines.txt --max-length "},
      {"fine_tune", bert + "--train labels.tsv --save new --max-length "},
      {"fine_tune", sentence + "--train labels.tsv --task pairs --save new --max-length "}};
  for (const auto& [program, arguments] : commands) {
    const std::string most = arguments.starts_with(sentence) ? "14" : "40";
    EXPECT_TRUE(fails(program, arguments + "512",
                      "must be at most " + most + ", the tokens that the model reads, got 512"));
    if (program == "fine_tune") continue;
    EXPECT_EQ(run(program, arguments + most).status, 0) << arguments;
  }
}

// The weights are finite, but an output is not: the second line has a word that overflows.
TEST_F(ModelPrograms, AnOutputThatIsNotFiniteIsAnErrorOfTheLine) {
  constexpr index_t kRiver = 51;
  copy_for_questions(folder_ / "questions");
  const auto overflow = [&](const std::string& folder, const std::string& prefix) {
    if (!fs::exists(folder_ / folder)) {
      fs::copy(golden_folder(folder), folder_ / folder, fs::copy_options::recursive);
    }
    const fs::path file = folder_ / folder / "model.safetensors";
    auto tensors = load_safetensors(file).tensors;
    Tensor river = tensors.at(prefix + "embeddings.word_embeddings.weight").select(0, kRiver);
    river.fill(3e38);
    river.slice(0, 0, 1).fill(-3e38);  // differences overflow in the norm
    save_safetensors(file, tensors);
  };
  overflow("bert", "bert.");
  overflow("questions", "bert.");
  overflow("reranker", "bert.");
  overflow("sentence", "");
  write("lines.txt", "the cat sat on a mat\nriver\n");
  write("blanks.txt", "the cat sat on a [MASK]\nriver [MASK]\n");
  write("pairs.txt", "who\tthe cat sat\nwho\triver\n");
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"embed", "--model sentence lines.txt"},
      {"embed", "--model sentence lines.txt --output y.npy"},
      {"embed", "--model sentence lines.txt --query cat"},
      {"embed", "--model sentence lines.txt --json"},
      {"classify_text", "--model bert lines.txt"},
      {"tag_tokens", "--model bert lines.txt"},
      {"tag_tokens", "--model bert lines.txt --json"},
      {"answer", "--model questions --pair pairs.txt"},
      {"fill_mask", "--model bert blanks.txt"},
      {"rerank", "--model reranker --query cat lines.txt"}};
  for (const auto& [program, arguments] : commands) {
    // The same weights give scores of words for blanks, or scores of all lines.
    const std::string line = program == "fill_mask" ? "line 1" : "line 2";
    EXPECT_TRUE(
        fails(program, arguments, ".txt: " + line + ": the model's output must be finite, got "));
    EXPECT_EQ(file_text(folder_ / "out.txt"), "") << arguments;
  }
  EXPECT_FALSE(fs::exists(folder_ / "y.npy"));
  EXPECT_TRUE(
      fails("answer", "--model questions --question river lines.txt", "lines.txt: the mod"));
  EXPECT_TRUE(fails("embed", "--model sentence blanks.txt --query river", ": the model's output"));
}

TEST_F(ModelPrograms, ControlCharactersOfTextsAreEscaped) {
  copy_for_questions(folder_ / "questions");
  const std::string bert = with_model("bert");
  write("lines.txt", "the cat\x1b[31m sat\n");
  write("blanks.txt", "the cat\x1b[31m sat on a [MASK]\n");
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"answer", "--model questions --question who --max-answer-tokens 15 --top 50 lines.txt"},
      {"classify_text", bert + "lines.txt"},
      {"embed", with_model("sentence", "lines.txt")},
      {"embed", with_model("sentence", "--query cat lines.txt")},
      {"rerank", with_model("reranker", "--query cat lines.txt")},
      {"tag_tokens", bert + "--aggregation none lines.txt"},
      {"fill_mask", bert + "blanks.txt"}};
  for (const auto& [program, arguments] : commands) {
    const std::string output = output_of(program, arguments);
    EXPECT_FALSE(contains(output, "\x1b")) << program;
  }
}

}  // namespace
}  // namespace tessera::test
