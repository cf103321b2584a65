// The programs that use pretrained models, on small folders: the references in golden/folders, and
// one-line errors.
#include <regex>
#include <tuple>

#include "tessera/tensor/io/safetensors.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using ModelPrograms = Programs;

// The numbers are those of the pipelines in golden/folders; hugging_face_test compares more of
// them.
TEST_F(ModelPrograms, JsonHasWhatThePipelinesSay) {
  copy_for_questions(folder_ / "model");
  write("lines.txt", "The cat sat on a mat.\n");
  write("pairs.txt", "the cat\tsat\nthe cat\tsat\n");
  write("questions.txt", "where is the cat\tThe cat sat on a mat.\n");
  write("no_answer.txt", "what\tParis\n");
  write("blanks.txt", "the cat sat on a [MASK] .\n");
  write("texts.txt", "a mat\nthe city\n");
  struct Case {
    std::string program, arguments, output;  // as a regular expression
  };
  const std::string bert = with_model("bert", "--json ");
  const std::vector<Case> cases = {
      {"classify_text", bert + "--top 2 --batch-size 2 lines.txt",
       R"(\{"classes":\[\{"label":"B-LOC","score":0\.32657\d+\},\{"label":"O","score":0\.2141\d+\}\]\})"},
      {"classify_text", bert + "--top 1 --pair < pairs.txt",
       R"((\{"classes":\[\{"label":"B-LOC","score":0\.2726\d+\}\]\}\n){2})"},
      {"tag_tokens", bert + "--aggregation average lines.txt",
       R"(\{"tags":\[\{"label":"PER","score":0\.41212\d+,"begin":0,"end":3,"text":"The"\},)"
       R"(\{"label":"LOC","score":0\.3345\d+,"begin":8,"end":11,"text":"sat"\},.*)"},
      {"answer", "--model model --json --pair questions.txt",
       R"(\{"answers":\[\{.*"text":"cat sat on".*\}\]\})"},
      {"answer", "--model model --json --pair --allow-no-answer no_answer.txt",
       R"(\{"answers":\[\{"text":"","score":0\.3165\d+,"begin":0,"end":0\}.*\]\})"},
      {"fill_mask", bert + "--top 1 blanks.txt",
       R"(\{"blanks":\[\{"begin":17,"end":23,"fillings":\[\{"id":74,"token":"##k",)"
       R"("text":"the cat sat on ak\.","score":0\.0891\d+\}\]\}\]\})"},
      {"rerank", with_model("reranker", "--json --query 'what is a cat' texts.txt"),
       R"(\{"line":2,"score":0\.26427\d+,"text":"the city"\}\n\{"line":1,"score":0\.2415\d+,.*)"}};
  for (const auto& [program, arguments, output] : cases) {
    const std::string found = output_of(program, arguments);
    EXPECT_TRUE(std::regex_match(found, std::regex(output + "\n?"))) << program << ": " << found;
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
  fs::copy(golden_folder("bert"), folder_ / "deberta-base");
  const std::string config = file_text(folder_ / "deberta-base/config.json");
  write("deberta-base/config.json",
        std::regex_replace(config, std::regex("\"bert\""), "\"deberta\""));
  write("lines.txt", "the cat\n");
  const std::string error = run("embed", "--model deberta-base lines.txt").errors;
  EXPECT_TRUE(error.starts_with("embed: deberta-base/config.json: model_type: ")) << error;
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
  with("\"bert\"", "\"deberta\"", "model_type: ");
  write("model/config.json", config);
  fs::rename(folder_ / "model/model.safetensors", folder_ / "model/away");
  all_fail("model.safetensors");
  fs::rename(folder_ / "model/away", folder_ / "model/model.safetensors");
  fs::remove_all(folder_ / "model");
  all_fail("model");
  const std::string bert = with_model("bert");
  expect_fails(
      {{"answer", bert + "lines.txt", "either --question or --pair must be given, got neither"},
       {"answer", bert + "--pair lines.txt", "lines.txt: line 1: must be two texts"},
       {"classify_text", bert + "--pair lines.txt", "lines.txt: line 1: must be two"},
       {"fill_mask", bert + "lines.txt", "lines.txt: line 1: must contain [MASK], got 'the cat'"},
       {"rerank", bert + "lines.txt", "--query"},
       {"rerank", bert + "--query who lines.txt", "5"},  // the scores of this classifier
       {"tag_tokens", bert + "--aggregation words lines.txt", "--aggregation"}});
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

// One line at the end, for the lines and the query together.
TEST_F(ModelPrograms, CutTextsAreCounted) {
  const std::string bert = with_model("bert"), sentence = with_model("sentence");
  write("lines.txt", "the cat sat\nthe cat\na big old city\n");
  write("blanks.txt", "[MASK] cat sat\n[MASK] cat\n");
  const std::string four = " --max-length 4 ";
  const std::vector<std::tuple<std::string, std::string, int>> cases = {
      {"classify_text", bert + "lines.txt" + four, 2},
      {"classify_text", bert + "lines.txt --attention a.html" + four, 2},
      {"tag_tokens", bert + "lines.txt" + four, 2},
      {"fill_mask", bert + "blanks.txt" + four, 1},
      {"rerank", with_model("reranker", "--query the lines.txt") + four, 3},
      {"embed", sentence + "lines.txt" + four, 2},
      {"embed", sentence + "lines.txt --query 'the old cat' --attention b.html" + four, 3},
      {"tokenize", bert + "lines.txt" + four, 2}};
  for (const auto& [program, arguments, count] : cases) {
    const Outcome done = run(program, arguments);
    EXPECT_EQ(done.status, 0) << done.errors;
    const std::string texts = count == 1 ? "1 text was" : std::to_string(count) + " texts were";
    EXPECT_EQ(done.errors,
              program + ": warning: " + texts + " truncated to 4 tokens; the rest was not read\n")
        << arguments;
  }
  EXPECT_EQ(run("classify_text", bert + "lines.txt").errors, "");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "cat ";
  EXPECT_EQ(run("explain", bert + "--text '" + text + "'").errors,
            "explain: warning: 1 text was truncated to 40 tokens; the rest was not read\n");
  EXPECT_TRUE(fails("fill_mask", bert + "blanks.txt --max-length 2",
                    "line 1 must have each [MASK] in the 2 tokens that the model reads, got one"));
}

TEST_F(ModelPrograms, LongLinesAreTaggedInWindows) {
  const std::string bert = with_model("bert", "lines.txt ");
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the cat sat on a mat ";
  write("lines.txt", text + "\nthe cat\n");
  const auto last = [](const std::string& output) {
    const std::size_t at = output.find("\n2\t");
    const std::string line = output.substr(output.rfind('\n', at - 1) + 1);
    return std::stol(line.substr(line.find('-') + 1));
  };
  EXPECT_LT(last(output_of("tag_tokens", bert)), 200);
  for (const char* windows :
       {"--stride 0", "--stride 8", "--window 12", "--window 12 --stride 5"}) {
    const Outcome all = run("tag_tokens", bert + windows);
    EXPECT_EQ(all.errors, "") << windows;
    EXPECT_GT(last(all.output), 1200) << windows;
  }
  EXPECT_EQ(run("tag_tokens", bert + "--stride 8 --attention a.html").status, 0);
  expect_fails(
      {{"tag_tokens", bert + "--window 9 --max-length 9", "--window must not be combined"},
       {"tag_tokens", bert + "--window 41", "--window: max_length must be at most 40"},
       {"tag_tokens", bert + "--stride 38", "stride must be at least 0 and below 38"},
       {"tag_tokens", bert + "--stride 2 --aggregation none", "strategy must not be none"}});
}

TEST_F(ModelPrograms, LabelsThatContradictEachOtherAreWarnings) {
  fs::copy(golden_folder("bert"), folder_ / "model", fs::copy_options::recursive);
  write("lines.txt", "the cat\n");
  const std::string config = file_text(folder_ / "model/config.json");
  write("model/config.json",
        std::regex_replace(config, std::regex("\"I-LOC\": 4"), "\"I-LOC\": 3"));
  for (const std::string program : {"classify_text", "tag_tokens", "explain"}) {
    const std::string arguments = program == "explain" ? "--text 'the cat'" : "lines.txt";
    const Outcome done = run(program, "--model model " + arguments);
    EXPECT_EQ(done.output, run(program, with_model("bert", arguments)).output);
    EXPECT_EQ(done.errors,
              program +
                  ": warning: model/config.json: label2id.I-LOC: must be the label's number "
                  "in id2label, got 3, which is 'B-LOC'; the names are those in id2label\n");
  }
}

TEST_F(ModelPrograms, TheWidthOfAPoolingIsAWarning) {
  fs::copy(golden_folder("sentence"), folder_ / "model", fs::copy_options::recursive);
  const std::string config = file_text(folder_ / "model/1_Pooling/config.json");
  write("model/1_Pooling/config.json", std::regex_replace(config, std::regex(": 12"), ": 13"));
  write("lines.txt", "the cat\n");
  for (const std::string program : {"embed", "explain"}) {
    const std::string arguments = program == "embed" ? "lines.txt" : "--text cat --with mat";
    const Outcome done = run(program, "--model model " + arguments);
    EXPECT_EQ(done.output, run(program, with_model("sentence", arguments)).output);
    EXPECT_EQ(done.errors,
              program +
                  ": warning: model/1_Pooling/config.json: word_embedding_dimension: must be "
                  "12, the width of its input, got 13; the number is ignored\n");
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
  const std::string says = ": the model's output must be finite, got ";
  // The same weights give scores of words for blanks, or scores of all lines.
  const std::vector<Refusal> calls = {
      {"embed", "--model sentence lines.txt", ".txt: line 2" + says},
      {"embed", "--model sentence lines.txt --output y.npy", ".txt: line 2" + says},
      {"embed", "--model sentence lines.txt --json", ".txt: line 2" + says},
      {"embed", "--model sentence blanks.txt --query river", says},
      {"classify_text", "--model bert lines.txt", ".txt: line 2" + says},
      {"tag_tokens", "--model bert lines.txt", ".txt: line 2" + says},
      {"answer", "--model questions --pair pairs.txt", ".txt: line 2" + says},
      {"answer", "--model questions --question river lines.txt", "lines.txt" + says},
      {"fill_mask", "--model bert blanks.txt", ".txt: line 1" + says},
      {"rerank", "--model reranker --query cat lines.txt", ".txt: line 2" + says}};
  for (const auto& [program, arguments, words] : calls) {
    EXPECT_TRUE(fails(program, arguments, words));
    EXPECT_EQ(file_text(folder_ / "out.txt"), "") << program << ' ' << arguments;
  }
  EXPECT_FALSE(fs::exists(folder_ / "y.npy"));
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
