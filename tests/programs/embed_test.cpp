// The program embed, with the small sentence encoder of golden/folders.
#include "tensor/io/json.h"
#include "tensor/io/npy.h"
#include "tensor/io/safetensors.h"
#include "tensor/ops/reduce.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
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

  /// The largest difference between a file of vectors and a case of the reference.
  double difference(const std::string& file, const std::string& name) const {
    const Tensor got = load_npy(path(file));
    const Tensor want = load_npz(golden_folder("sentence") / "expected.npz").at(name);
    EXPECT_EQ(got.shape(), want.shape());
    if (got.shape() != want.shape()) return 1;
    const auto a = got.to_vector<float>();
    const auto b = want.to_vector<float>();
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return largest;
  }
};

TEST_F(Embed, WritesWhatTorchComputes) {
  const Outcome plain = run("embed", with_model("--output x.npy lines.txt"));
  EXPECT_EQ(plain.status, 0) << plain.errors;
  EXPECT_EQ(plain.output + plain.errors, "");
  EXPECT_LE(difference("x.npy", "as_it_is"), 1e-5);
  run("embed",
      with_model("--output y.npy --prompt-name query --threads 3 --batch-size 2 < lines.txt"));
  EXPECT_LE(difference("y.npy", "prompt_name"), 1e-5);
  run("embed", with_model("--output z.npy --truncate-dim 5 --normalize lines.txt"));
  EXPECT_LE(difference("z.npy", "truncated_normalized"), 1e-5);
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

TEST_F(Embed, NamesTheWeightThatIsNotFinite) {
  const fs::path model = folder_ / "model";
  fs::copy(golden_folder("sentence"), model, fs::copy_options::recursive);
  auto tensors = load_safetensors(model / "model.safetensors").tensors;
  constexpr index_t kRiver = 51;
  tensors.at("embeddings.word_embeddings.weight").select(0, kRiver).fill(std::nan(""));
  save_safetensors(model / "model.safetensors", tensors);
  write("some.txt", "river\nparis\nthe cat sat\n");
  EXPECT_TRUE(fails("embed", "--model model some.txt",
                    "model/model.safetensors: tensor 'embeddings.word_embeddings.weight': weights "
                    "must be finite, got nan at (51, 0)"));
}

TEST_F(Embed, HasTheSameBytesInInt8ForEveryBatch) {
  const fs::path model = write_wide_folder(golden_folder("sentence"), folder_ / "wide");
  const auto vectors = [&](const std::string& file, const std::string& options) {
    output_of("embed", "--model wide --output " + file + " " + options + " lines.txt");
    return file_text(path(file));
  };
  const std::string one = vectors("one.npy", "--weight-format int8 --batch-size 1 --threads 1");
  EXPECT_EQ(vectors("again.npy", "--weight-format int8 --batch-size 1 --threads 1"), one);
  EXPECT_EQ(vectors("eight.npy", "--weight-format int8 --batch-size 8 --threads 3"), one);
  EXPECT_NE(vectors("exact.npy", "--batch-size 8"), one);
  const Tensor cosines = cosine_similarity(load_npy(path("one.npy")), load_npy(path("exact.npy")));
  EXPECT_GE(min(cosines).item<float>(), 0.99F);
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
                   {with_model("--truncate-dim 13 lines.txt"), "from 0 to 12, got 13"},
                   {with_model("--output no/where.npy lines.txt"), "no/where.npy"},
               });
}

}  // namespace
}  // namespace tessera::test
