// Folders as a map of names; tests/golden/folders and encoders_test.cpp say what they compute.
#include "models/hugging_face/folder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/classifier.h"
#include "tensor/create.h"
#include "tensor/io/safetensors.h"
#include "tensor/random.h"
#include "tests/support/file_support.h"
#include "tests/support/oracle.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr const char* kConfig = R"({"model_type": "bert", "vocab_size": 7, "hidden_size": 4,
  "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 6,
  "max_position_embeddings": 5, "type_vocab_size": 2})";

/// A BERT of one layer by its own names; with random numbers.
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

  ModelFolder opened() const {
    files_.write("config.json", kConfig);
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
  EXPECT_EQ(folder.encoder.max_tokens, 5);
  EXPECT_EQ(folder.encoder.encoder.width(), 4);
}

TEST_F(ModelFolderTest, GivesParametersByOurNames) {
  const ModelFolder folder = opened();
  const std::string in_proj = "encoder.layers.0.self_attn.in_proj_weight";
  EXPECT_EQ(*folder.shape(in_proj), (Shape{12, 4}));
  const Tensor rows = folder.weight(in_proj, {12, 4});
  for (index_t i = 0; const char* part : {"query", "key", "value"}) {
    const std::string name = format("encoder.layer.0.attention.self.", part, ".weight");
    EXPECT_TRUE(same_bits(rows.slice(0, i, i + 4), tensors.at(name))) << part;
    i += 4;
  }
  EXPECT_TRUE(folder.has("head.dense.bias"));
  EXPECT_FALSE(folder.has("classifier.weight"));
  EXPECT_FALSE(folder.has("no.such.name"));
  EXPECT_FALSE(folder.shape("classifier.weight"));
  const nn::StateDict all = folder.weights();
  EXPECT_TRUE(same_bits(all.at(in_proj), rows));
  EXPECT_TRUE(all.contains("cls.seq_relationship.bias"));
  EXPECT_EQ(all.size(), 3U + 2 + 12 + 6);  // tables, their norm, a layer, three heads' dense
}

TEST_F(ModelFolderTest, LoadsAHeadUnderAnotherName) {
  Rng blank = Rng::blank();
  const ModelFolder folder = opened();
  SequenceClassifier model({.tokens = folder.encoder, .classes = 2}, blank);
  EXPECT_EQ(file_error([&] { load_weights(model, folder); }).substr(folder.path.string().size()),
            "/model.safetensors: no tensor 'bert.classifier.weight', nor 'classifier.weight', for "
            "'classifier.weight'");
  load_weights(model, folder, {{"classifier", "cls.seq_relationship"}});
  EXPECT_TRUE(same_bits(model.classifier.weight, tensors.at("cls.seq_relationship.weight")));
  SequenceClassifier wide({.tokens = folder.encoder, .classes = 3}, blank);
  EXPECT_EQ(file_error([&] {
              load_weights(wide, folder, {{"classifier", "cls.seq_relationship"}});
            }).substr(folder.path.string().size()),
            "/model.safetensors: tensor 'cls.seq_relationship.weight': wanted shape (3, 4) for "
            "config.json's sizes, got (2, 4)");
  nn::Linear unknown(2, 2, blank);
  EXPECT_EQ(file_error([&] { load_weights(unknown, folder); }),
            folder.path.string() + ": no model of the family bert has 'weight'");
}

// Whoever saves tied tensors once may keep either name.
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
  EXPECT_NE(file_error([&] { load_encoder(opened()); }).find("wanted floating weights"),
            std::string::npos);
}

TEST_F(ModelFolderTest, TheEncoderDoesNotDropAndNeedsNoHead) {
  for (const char* name : {"pooler.dense.weight", "pooler.dense.bias",
                           "cls.seq_relationship.weight", "cls.seq_relationship.bias"}) {
    tensors.erase(name);
  }
  const TokenEncoder encode = load_encoder(opened());
  EXPECT_FALSE(encode.embeddings.dropout.training);
  EXPECT_FALSE(encode.encoder.layers[0].dropout1.training);
  EXPECT_EQ(encode(tensor({{1, 2, 3}})).shape(), (Shape{1, 3, 4}));
}

}  // namespace
}  // namespace tessera::models
