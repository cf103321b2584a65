// Prepacked models of folders compute the same results.
#include "tessera/models/hugging_face/sentence_encoder.h"

#include "tessera/models/hugging_face/mask_filler.h"
#include "tessera/models/hugging_face/text_classifier.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"
#include "tests/support/wide_folder.h"

namespace tessera::models {
namespace {

using namespace test;
using Path = std::filesystem::path;

const std::vector<std::string> kTexts = {"The cat sat.", "A", "Where is the old city?"};

TEST(PrepackFolders, SentencesKeepTheirBitsAndTheModelItsTables) {
  for (const char* const name : {"sentence", "static", "bert"}) {
    SCOPED_TRACE(name);
    SentenceEncoder model = load_sentence_encoder(folders() / name);
    const Tensor before = model.encode(kTexts);
    prepack(model);
    EXPECT_TRUE(same_bits(model.encode(kTexts), before));
    if (const auto* const words = std::get_if<TokenEncoder>(&model.token_encoder)) {
      EXPECT_TRUE(words->encoder.layers[0].self_attn->in_proj_weight.is_prepacked());
      EXPECT_TRUE(words->encoder.layers[0].feed_forward->linear1.weight.is_prepacked());
      EXPECT_FALSE(words->embeddings.word.weight.is_prepacked());
    }
    for (const SentenceModule& module : model.modules) {
      const auto* const dense = std::get_if<Dense>(&module);
      EXPECT_TRUE(dense == nullptr || dense->linear.weight.is_prepacked());
    }
  }
}

TEST(PrepackFolders, TasksKeepTheirScores) {
  TextClassifier classify = load_text_classifier(folders() / "reranker");
  const auto classes = classify(kTexts);
  prepack(classify);
  const auto again = classify(kTexts);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(again[i][0].label, classes[i][0].label);
    EXPECT_EQ(again[i][0].score, classes[i][0].score);
  }
  MaskFiller fill = load_mask_filler(folders() / "bert");
  const std::vector<std::string> blanks = {"The " + fill.mask() + " sat."};
  const auto before = fill(blanks)[0][0];
  prepack(fill);
  const auto after = fill(blanks)[0][0];
  for (std::size_t i = 0; i < before.fillings.size(); ++i) {
    EXPECT_EQ(after.fillings[i].score, before.fillings[i].score);
  }
}

TEST(PrepackFolders, Int8ChangesSentencesLittle) {
  const TemporaryFolder scratch;
  const Path folder = write_wide_folder(folders() / "bert", scratch.path() / "wide");
  const SentenceEncoder exact = load_sentence_encoder(folder);
  const Tensor before = exact.encode(kTexts);
  SentenceEncoder model = load_sentence_encoder(folder);
  prepack(model, {.format = WeightFormat::kInt8});
  const Tensor after = model.encode(kTexts);
  EXPECT_FALSE(same_bits(after, before));
  EXPECT_GE(min(cosine_similarity(after, before)).item<float>(), 0.999F);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const auto row = static_cast<index_t>(i);
    EXPECT_TRUE(same_bits(model.encode({kTexts[i]}), after.slice(0, row, row + 1)));
  }
}

TEST(PrepackFolders, Int8IsForTheWeightsOfLayers) {
  const TemporaryFolder scratch;
  const Path folder = write_wide_folder(folders() / "bert", scratch.path() / "wide");
  MaskFiller fill = load_mask_filler(folder);
  const nn::StateDict before = nn::state_dict(fill.model);
  const auto rounded_weights = [&](const nn::PrepackOptions& options) {
    MaskFiller prepacked = load_mask_filler(folder);
    prepack(prepacked, options);
    nn::unpack(prepacked.model);
    std::set<std::string> names;
    for (const auto& [name, tensor] : nn::state_dict(prepacked.model)) {
      if (!same_bits(tensor, before.at(name))) names.insert(name);
    }
    return names;
  };
  const std::set<std::string> layers = rounded_weights({.format = WeightFormat::kInt8});
  EXPECT_EQ(layers.size(), 2U * 4U);
  for (const std::string& name : layers) {
    EXPECT_NE(name.find("layers."), std::string::npos) << name;
  }
  const auto none = [](const std::string&) { return false; };
  const std::set<std::string> all = rounded_weights({.format = WeightFormat::kInt8, .keep = none});
  EXPECT_GT(all.size(), layers.size()) << "the head's dense layer";
}

}  // namespace
}  // namespace tessera::models
