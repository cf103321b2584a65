// Folders as a map of names; tests/golden/folders and encoders_test.cpp test their results.
#include "tessera/models/hugging_face/folder.h"

#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/models/hugging_face/hugging_face.h"
#include "tests/support/file_support.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr const char* kConfig = R"({"model_type": "bert", "vocab_size": 7, "hidden_size": 4,
  "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 6,
  "max_position_embeddings": 5, "type_vocab_size": 2})";

/// A BERT of one layer with its original names and random numbers.
std::map<std::string, Tensor> bert_tensors() {
  const std::string layer = "encoder.layer.0.";
  std::map<std::string, Shape> shapes = {
      {"embeddings.word_embeddings.weight", {7, 4}},
      {"embeddings.position_embeddings.weight", {5, 4}},
      {"embeddings.token_type_embeddings.weight", {2, 4}},
      {layer + "intermediate.dense.weight", {6, 4}},
      {layer + "intermediate.dense.bias", {6}},
      {layer + "output.dense.weight", {4, 6}},
      {layer + "output.dense.bias", {4}},
      {"pooler.dense.weight", {4, 4}},
      {"pooler.dense.bias", {4}},
      {"cls.seq_relationship.weight", {2, 4}},
      {"cls.seq_relationship.bias", {2}},
  };
  for (const char* name : {"query", "key", "value"}) {
    shapes[layer + "attention.self." + name + ".weight"] = {4, 4};
    shapes[layer + "attention.self." + name + ".bias"] = {4};
  }
  shapes[layer + "attention.output.dense.weight"] = {4, 4};
  shapes[layer + "attention.output.dense.bias"] = {4};
  for (const std::string norm :
       {"embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"}) {
    shapes[norm + ".LayerNorm.weight"] = shapes[norm + ".LayerNorm.bias"] = {4};
  }
  std::map<std::string, Tensor> tensors;
  Rng rng(5);
  for (const auto& [name, shape] : shapes) tensors[name] = randn(shape, kFloat32, rng);
  return tensors;
}

class ModelFolderTest : public ::testing::Test {
 protected:
  std::map<std::string, Tensor> tensors = bert_tensors();
  std::string config = kConfig;

  ModelFolder opened() const {
    files_.write("config.json", config);
    save_safetensors(files_.path() / "model.safetensors", tensors);
    return ModelFolder(files_.path());
  }

 private:
  TemporaryFolder files_;
};

TEST_F(ModelFolderTest, HasItsConfigAndItsFamily) {
  const ModelFolder folder = opened();
  EXPECT_EQ(folder.family->name, "bert");
  EXPECT_EQ(folder.config.integer("vocab_size"), 7);
  EXPECT_EQ(folder.options.max_positions, 5);
  EXPECT_EQ(folder.options.encoder.width(), 4);
}

TEST_F(ModelFolderTest, LoadsWithoutCopiesAndDrawsNothing) {
  // Large enough to be mapped; the layers' small tensors are copied, and q, k and v are joined.
  config = R"({"model_type": "bert", "vocab_size": 500, "hidden_size": 128,
    "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 256,
    "max_position_embeddings": 200, "type_vocab_size": 2})";
  Rng rng(6);
  constexpr index_t kJoined = 3 * 128 * 128 * 4;
  index_t most = kJoined * 5 / 4;  // of all copied tensors, in blocks of the allocator
  for (auto& [name, tensor] : tensors) {
    std::vector<index_t> sizes;
    for (const index_t size : tensor.shape()) {
      const std::map<index_t, index_t> larger = {{7, 500}, {5, 200}, {4, 128}, {6, 256}, {2, 2}};
      sizes.push_back(larger.at(size));
    }
    tensor = randn(Shape(sizes), kFloat32, rng);
    if (tensor.count() * 4 < 65536) most += tensor.count() * 4 + 320;
  }
  const ModelFolder folder = opened();
  const MemoryStats before = memory_stats();
  const Rng::State drawn = default_rng().state();
  const TokenEncoder encoder = load_encoder(folder);
  const MemoryStats after = memory_stats();
  EXPECT_EQ(default_rng().state(), drawn);
  EXPECT_LE(after.in_use - before.in_use, most);
  EXPECT_EQ(after.borrowed - before.borrowed, 4 * (500 + 200 + 128 + 2 * 256) * 128)
      << "what was joined is not held twice";
  const Tensor& rows = encoder.encoder.layers[0].self_attn->in_proj_weight;
  const std::string part = "encoder.layer.0.attention.self.";
  EXPECT_TRUE(same_bits(rows.slice(0, 128, 256), tensors.at(part + "key.weight")));
}

TEST_F(ModelFolderTest, GivesParametersByOurNames) {
  const ModelFolder folder = opened();
  const std::string in_proj = "encoder.layers.0.self_attn.in_proj_weight";
  EXPECT_EQ(*folder.shape(in_proj), (Shape{12, 4}));
  const Tensor rows = folder.weight(in_proj, {12, 4});
  for (index_t i = 0; const char* part : {"query", "key", "value"}) {
    const std::string name = str_cat("encoder.layer.0.attention.self.", part, ".weight");
    EXPECT_TRUE(same_bits(rows.slice(0, i, i + 4), tensors.at(name))) << part;
    i += 4;
  }
  EXPECT_TRUE(folder.has("head.dense.bias"));
  EXPECT_FALSE(folder.has("classifier.weight"));
  EXPECT_FALSE(folder.has("no.such.name"));
  EXPECT_FALSE(folder.shape("classifier.weight"));
  EXPECT_TRUE(folder.has("cls.seq_relationship.bias"));
}

TEST_F(ModelFolderTest, LoadsAHeadUnderAnotherName) {
  const ModelFolder folder = opened();
  const SequenceClassifierOptions options = {.token_encoder = folder.options, .num_labels = 2};
  const auto error = [&](const auto& load) {
    return file_error(load).substr(folder.path.string().size());
  };
  EXPECT_EQ(error([&] { load_model<SequenceClassifier>(options, folder); }),
            "/model.safetensors: tensor 'bert.classifier.weight' or 'classifier.weight' not found, "
            "needed for 'classifier.weight'");
  const std::vector<Rename> renames = {{"classifier", "cls.seq_relationship"}};
  const auto model = load_model<SequenceClassifier>(options, folder, renames);
  EXPECT_TRUE(same_bits(model.classifier.weight, tensors.at("cls.seq_relationship.weight")));
  EXPECT_FALSE(model.dropout.training);
  const SequenceClassifierOptions wide = {.token_encoder = folder.options, .num_labels = 3};
  EXPECT_EQ(error([&] { load_model<SequenceClassifier>(wide, folder, renames); }),
            "/model.safetensors: tensor 'cls.seq_relationship.weight': shape must be (3, 4) by "
            "config.json, got (2, 4)");
  EXPECT_EQ(error([&] { nn::Linear(2, 2, folder.source()); }),
            ": parameter must be one of the family bert, got 'weight'");
}

/// A model that has its encoder under a different name.
struct Tower {
  TokenEncoder query;

  explicit Tower(const TokenEncoderOptions& options,
                 const nn::ParameterSource& from = default_rng())
      : query(options, from["query"]) {}
  static void visit(auto& self, auto&& visitor) { visitor("query", self.query); }
};

TEST_F(ModelFolderTest, LoadsAnEncoderUnderAnotherName) {
  const ModelFolder folder = opened();
  const std::vector<Rename> renames = {{"query.embeddings", "embeddings"},
                                       {"query.encoder", "encoder"}};
  const auto tower = load_model<Tower>(folder.options, folder, renames);
  EXPECT_TRUE(same_bits(tower.query.embeddings.word.weight,
                        tensors.at("embeddings.word_embeddings.weight")));
}

// A program that saves tied tensors once may keep either name.
TEST_F(ModelFolderTest, FindsATiedTableUnderItsOtherName) {
  const std::string name = "embeddings.word_embeddings.weight";
  const Tensor table = tensors.at(name);
  tensors.erase(name);
  tensors["cls.predictions.decoder.weight"] = table;
  EXPECT_TRUE(same_bits(load_encoder(opened()).embeddings.word.weight, table));
}

TEST_F(ModelFolderTest, ReadsFloatsOfOtherTypesAndNoIntegers) {
  const std::string name = "embeddings.word_embeddings.weight";
  const Tensor table = tensors.at(name);
  tensors[name] = table.to(kFloat64);
  EXPECT_TRUE(same_bits(load_encoder(opened()).embeddings.word.weight, table));
  tensors[name] = table.to(kInt64);
  expect_refused([&] { load_encoder(opened()); },
                 "dtype must be F16, BF16, F32 or F64, got integers");
}

TEST_F(ModelFolderTest, TheEncoderDoesNotDrop) {
  const TokenEncoder encode = load_encoder(opened());
  EXPECT_FALSE(encode.embeddings.dropout.training);
  EXPECT_FALSE(encode.encoder.layers[0].dropout1.training);
}

using Names = std::vector<std::string>;

/// Their names for ours; "-" if the line is for other parameters.
Names theirs(const WeightName& line, const std::string& ours, index_t group_size = 1) {
  const auto tensors = tensor_names(line, ours, group_size);
  return tensors ? tensors->names : Names{"-"};
}

TEST(WeightNames, FillNumberAndLastPart) {
  const WeightName line = {"layers.#.norm.*", "h.#.ln.*"};
  EXPECT_EQ(theirs(line, "layers.0.norm.weight"), Names{"h.0.ln.weight"});
  EXPECT_EQ(theirs(line, "layers.12.norm.bias"), Names{"h.12.ln.bias"});
  for (const char* other : {"layers.0.norm", "layers.0.norm.gamma", "layers.0.norm.weight.weight",
                            "layers.x.norm.weight", "layers.0.norm2.weight", "norm.weight", ""}) {
    EXPECT_EQ(theirs(line, other), Names{"-"}) << other;
  }
  const WeightName whole = {"table.weight", "wte.weight"};
  EXPECT_EQ(theirs(whole, "table.weight"), Names{"wte.weight"});
  EXPECT_EQ(theirs(whole, "table.bias"), Names{"-"});
}

TEST(WeightNames, BracesAreRowsInOrder) {
  const WeightName line = {"a.#.in_proj_*", "b.#.{q,k,v}.lin.*"};
  EXPECT_EQ(theirs(line, "a.3.in_proj_bias"),
            (Names{"b.3.q.lin.bias", "b.3.k.lin.bias", "b.3.v.lin.bias"}));
}

TEST(WeightNames, GroupsCutTheNumberInTwo) {
  const WeightName line = {"layers.#.*", "groups.@.inner.%.*"};
  EXPECT_EQ(theirs(line, "layers.5.weight", 2), Names{"groups.2.inner.1.weight"});
  EXPECT_EQ(theirs(line, "layers.5.weight"), Names{"groups.5.inner.0.weight"});
}

TEST(WeightNames, ListOurs) {
  EXPECT_EQ(our_names({"l.#.w_*", ""}, 2),
            (Names{"l.0.w_weight", "l.0.w_bias", "l.1.w_weight", "l.1.w_bias"}));
  EXPECT_EQ(our_names({"table.weight", ""}, 2), Names{"table.weight"});
}

TEST(WeightNames, HaveSpellings) {
  EXPECT_EQ(spellings("ln.weight", "bert."),
            (Names{"ln.weight", "ln.gamma", "bert.ln.weight", "bert.ln.gamma"}));
  EXPECT_EQ(spellings("ln.bias", "bert."),
            (Names{"ln.bias", "ln.beta", "bert.ln.bias", "bert.ln.beta"}));
}

// Tables are data that are not checked as a whole elsewhere.
TEST(Families, HaveWellFormedTables) {
  std::set<std::string_view> names;
  for (const Family* family : all_families()) {
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    EXPECT_TRUE(family->prefix.ends_with('.')) << family->name;
    for (const auto& lines : {family->encoder_names, family->head_names}) {
      for (const WeightName& line : lines) {
        const auto count = [](std::string_view text, char c) {
          return std::count(text.begin(), text.end(), c);
        };
        const std::string what = str_cat(family->name, ": ", line.ours, " <- ", line.theirs);
        EXPECT_EQ(count(line.ours, '*'), count(line.theirs, '*')) << what;
        EXPECT_EQ(count(line.ours, '#'), count(line.theirs, '#') + count(line.theirs, '@')) << what;
        EXPECT_EQ(count(line.theirs, '@'), count(line.theirs, '%')) << what;
        EXPECT_EQ(count(line.theirs, '{'), count(line.theirs, '}')) << what;
        EXPECT_EQ(count(line.theirs, '@') > 0,
                  family->group_size != nullptr && count(line.ours, '#'))
            << what;
      }
    }
  }
}

TEST(Families, AreRefusedByName) {
  const auto refusal = [](const std::string& type) {
    return test::file_error([&] { family_of(parse_json("{\"model_type\": " + type + "}", "c")); });
  };
  EXPECT_EQ(&family_of(parse_json(R"({"model_type": "mpnet"})", "c")),
            &family_of(parse_json(R"({"model_type": "mpnet", "x": 1})", "c")));
  EXPECT_EQ(refusal("\"deberta\"").substr(0, 84),
            "c: model_type: must be a supported family, got the text 'deberta'; its projections a");
  EXPECT_TRUE(test::contains(refusal("\"t5\""), "must be one of bert, roberta"));
  EXPECT_TRUE(test::contains(refusal("\"t5\""), "got the text 't5'"));
  EXPECT_TRUE(test::contains(refusal("null"), "model_type"));
}

}  // namespace
}  // namespace tessera::models
