// The program embed, with the small sentence encoder of golden/folders.
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"
#include "tests/support/wide_folder.h"

namespace tessera::test {
namespace {

class Embed : public Programs {
 protected:
  void SetUp() override {
    Programs::SetUp();
    std::string lines;
    for (const Json& text :
         read_json(golden_folder("sentence") / "cases.json").at("texts").items()) {
      lines += std::string(text.text()) + '\n';
    }
    write("lines.txt", lines);
  }

  static std::string with_model(const std::string& arguments) {
    return test::with_model("sentence", arguments);
  }

  ::testing::AssertionResult has_vectors_of(const std::string& file,
                                            const std::string& name) const {
    const auto want = load_npz(golden_folder("sentence") / "expected.npz");
    return near(load_npy(path(file)), array(want.at(name)), 0, 1e-5);
  }
};

TEST_F(Embed, WritesWhatTorchComputes) {
  const Outcome plain = run("embed", with_model("--output x.npy lines.txt"));
  EXPECT_EQ(plain.status, 0) << plain.errors;
  EXPECT_EQ(plain.output, "");
  EXPECT_EQ(plain.errors,
            "embed: warning: 1 text was truncated to 14 tokens; the rest was not read\n");
  EXPECT_TRUE(has_vectors_of("x.npy", "as_it_is"));
  run("embed",
      with_model("--output y.npy --prompt-name query --threads 3 --batch-size 2 < lines.txt"));
  EXPECT_TRUE(has_vectors_of("y.npy", "prompt_name"));
  run("embed", with_model("--output z.npy --truncate-dim 5 --normalize lines.txt"));
  EXPECT_TRUE(has_vectors_of("z.npy", "truncated_normalized"));
}

TEST_F(Embed, PrintsATableOfSimilarity) {
  write("two.txt", "the cat sat\nriver\nthe cat sat\n");
  const Outcome outcome = run("embed", with_model("two.txt"));
  std::istringstream output(outcome.output);
  std::vector<std::string> words{std::istream_iterator<std::string>(output), {}};
  ASSERT_EQ(words.size(), 3 + 2 * (1 + 3 + 3) + 1 + 3 + 1U) << outcome.output;
  EXPECT_EQ(words[3], "1");
  EXPECT_EQ(words[4], "1.000");
  EXPECT_EQ(words[6], "1.000");
  EXPECT_EQ(words[5], words[11]);
}

TEST_F(Embed, FindsTheLinesMostLikeAQuery) {
  write("some.txt", "river\nthe cat sat on a mat\nmany people live in paris\n");
  const Outcome found =
      run("embed",
          with_model("--json --top 2 --query 'the cat sat on a mat' --query-prompt ' ' some.txt"));
  std::istringstream output(found.output);
  std::string line;
  ASSERT_TRUE(std::getline(output, line)) << found.errors;
  const Json best = parse_json(line, "embed");
  EXPECT_EQ(best.integer("line"), 2);
  EXPECT_EQ(best.text("text"), "the cat sat on a mat");
  EXPECT_NEAR(best.number("score"), 1, 1e-5);
  ASSERT_TRUE(std::getline(output, line));
  EXPECT_LT(parse_json(line, "embed").number("score"), 0.99999);
  EXPECT_FALSE(std::getline(output, line));
  const Outcome rows = run(
      "embed", with_model("--top 1 --query 'the cat sat on a mat' --query-prompt ' ' some.txt"));
  EXPECT_EQ(rows.output, "1.0000\t2\tthe cat sat on a mat\n");
  // The folder has a prompt for queries, which is not applied to the lines.
  const Outcome prompted =
      run("embed", with_model("--top 1 --query 'the cat sat on a mat' some.txt"));
  EXPECT_NE(prompted.output, rows.output);
}

TEST_F(Embed, HasTheSameBytesInInt8ForEveryBatch) {
  write_wide_folder(golden_folder("sentence"), folder_ / "wide");
  const auto vectors = [&](const std::string& options) {
    output_of("embed", "--model wide --output v.npy lines.txt " + options);
    return file_text(path("v.npy"));
  };
  const std::string one = vectors("--weight-format int8 --batch-size 1 --threads 1");
  EXPECT_EQ(vectors("--weight-format int8 --batch-size 8 --threads 3"), one);
  EXPECT_NE(vectors("--batch-size 8"), one);
  EXPECT_TRUE(fails("embed", "--model wide --weight-format int4 lines.txt", "--weight-format"));
}

TEST_F(Embed, WritesAProfile) {
  output_of("embed", with_model("--output x.npy lines.txt"));
  const Outcome profiled =
      run("embed", with_model("--output y.npy --profile profile.json --threads 2 lines.txt"));
  ASSERT_EQ(profiled.status, 0) << profiled.errors;
  EXPECT_EQ(profiled.output, "");
  EXPECT_EQ(file_text(path("y.npy")), file_text(path("x.npy")));
  EXPECT_TRUE(profiled.errors.starts_with("wall 0.")) << profiled.errors;
  for (const char* const step :
       {"layers.*.self_attn ", " attention ", "load model", "write file"}) {
    EXPECT_TRUE(contains(profiled.errors, step));
  }
  std::set<std::string> names;
  for (const Json& event : read_json(path("profile.json")).at("traceEvents").items()) {
    EXPECT_GE(event.number("dur"), 0);
    names.insert(event.at("args").text("module") + ' ' + event.text("name"));
  }
  for (const char* const name : {"layers.1.self_attn attention", "layers.0.feed_forward linear",
                                 "embeddings embedding", "tokenize tokenize"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(Embed, PrintsVectorsAsJson) {
  write("one.txt", "the \"cat\"\n");
  const Outcome outcome = run("embed", with_model("--json --pooling max one.txt"));
  const Json json = parse_json(outcome.output, "embed");
  EXPECT_EQ(json.text("text"), "the \"cat\"");
  EXPECT_EQ(json.at("vector").size(), 12);
}

// With several vectors or a sparse vector per text: torch's scores, and all vectors as JSON.
TEST_F(Embed, RanksByEveryFormOfVectors) {
  const auto lines = read_json(golden_folder("m3") / "texts.json");
  std::vector<index_t> numbers;  // of the texts that are not empty
  std::string text;
  for (index_t i = 0; i < lines.size(); ++i) {
    if (lines.item(i).text().empty()) continue;
    numbers.push_back(i);
    text += std::string(lines.item(i).text()) + '\n';
  }
  write("texts.txt", text);
  const index_t query = 3;
  for (const std::string folder : {"colbert", "m3"}) {
    const auto want =
        load_npz(golden_folder(folder) / "expected.npz").at("scores").select(0, query);
    const std::string options = folder == "m3" ? "--json --vectors multi" : "--json";
    std::istringstream output(
        output_of("embed", test::with_model(folder, options + " --query river texts.txt")));
    std::string line;
    index_t count = 0;
    for (; std::getline(output, line); ++count) {
      const Json row = parse_json(line, "embed");
      const auto number = numbers.at(static_cast<std::size_t>(row.integer("line") - 1));
      EXPECT_NEAR(row.number("score"), want.select(0, number).item(), 1e-4) << folder;
    }
    EXPECT_EQ(count, std::ssize(numbers));
  }
  const Tensor weights = load_npz(golden_folder("m3") / "expected.npz").at("weights");
  std::istringstream found(output_of(
      "embed",
      test::with_model("m3", "--json --vectors sparse --query 'the cat sat on a mat.' texts.txt")));
  index_t count = 0;
  for (std::string line; std::getline(found, line); ++count) {
    const Json row = parse_json(line, "embed");
    const auto number = numbers.at(static_cast<std::size_t>(row.integer("line") - 1));
    EXPECT_NEAR(row.number("score"), sum(weights.select(0, number) * weights.select(0, 0)).item(),
                1e-4);
  }
  EXPECT_EQ(count, std::ssize(numbers));
  const auto first_row = [&](const std::string& folder, const std::string& form) {
    const std::string all =
        output_of("embed", test::with_model(folder, "--json --vectors " + form + " texts.txt"));
    return parse_json(all.substr(0, all.find('\n')), "embed");
  };
  EXPECT_EQ(first_row("m3", "single").at("vector").size(), 12);
  EXPECT_EQ(first_row("m3", "multi").at("vectors").item(0).size(), 9);
  EXPECT_TRUE(first_row("m3", "sparse").at("weights").has("cat"));
  EXPECT_TRUE(first_row("splade", "sparse").at("weights").size() > 0);
}

TEST_F(Embed, SaysInOneLineWhatIsWrong) {
  std::string many;
  for (int i = 0; i < 101; ++i) many += "cat\n";
  write("many.txt", many);
  write("bad.txt", "cat\n\xff\n");
  expect_fails("embed",
               {
                   {"lines.txt", "--model"},
                   {"--model none lines.txt", "none/config.json"},
                   {with_model("no.txt"), "no.txt"},
                   {with_model("bad.txt"), "bad.txt"},
                   {with_model("many.txt"), "101 lines"},
                   {with_model("--pooling median lines.txt"), "median"},
                   {with_model("--prompt-name quarry lines.txt"), "'quarry'"},
                   {with_model("--prompt a --prompt-name query lines.txt"), "--prompt-name"},
                   {with_model("--query-prompt a lines.txt"), "--query"},
                   {with_model("--vectors multi --json lines.txt"), "colbert_linear.safetensors"},
                   {with_model("--vectors dense lines.txt"), "dense"},
                   {with_model("--truncate-dim 13 lines.txt"), "from 0 to 12, got 13"},
                   {with_model("--output no/where.npy lines.txt"), "no/where.npy"},
               });
}

}  // namespace
}  // namespace tessera::test
