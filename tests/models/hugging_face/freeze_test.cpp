// Frozen models of folders compute what they did.
#include "models/hugging_face/sentence_encoder.h"

#include "models/hugging_face/mask_filler.h"
#include "models/hugging_face/text_classifier.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

const std::vector<std::string> kTexts = {"The cat sat.", "A", "Where is the old city?"};

TEST(FreezeFolders, SentencesKeepTheirBitsAndTheModelItsTables) {
  for (const char* const name : {"sentence", "static", "bert"}) {
    SCOPED_TRACE(name);
    SentenceEncoder model = load_sentence_encoder(folders() / name);
    const Tensor before = model.encode(kTexts);
    freeze(model);
    EXPECT_TRUE(same_bits(model.encode(kTexts), before));
    if (const auto* const words = std::get_if<TokenEncoder>(&model.words)) {
      EXPECT_TRUE(words->encoder.layers[0].self_attn.in_proj_weight.is_frozen());
      EXPECT_TRUE(words->encoder.layers[0].feed_forward.linear1.weight.is_frozen());
      EXPECT_FALSE(words->embeddings.word.weight.is_frozen());
    }
    for (const SentenceModule& module : model.modules) {
      const auto* const dense = std::get_if<Dense>(&module);
      EXPECT_TRUE(dense == nullptr || dense->linear.weight.is_frozen());
    }
    freeze(model, {WeightFormat::kBFloat16});
    EXPECT_TRUE(near(model.encode(kTexts), array(before), 2e-2, 2e-2));
  }
}

TEST(FreezeFolders, TasksKeepTheirScores) {
  TextClassifier classify = load_text_classifier(folders() / "reranker");
  const auto classes = classify(kTexts);
  freeze(classify);
  const auto again = classify(kTexts);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(again[i][0].label, classes[i][0].label);
    EXPECT_EQ(again[i][0].score, classes[i][0].score);
  }
  MaskFiller fill = load_mask_filler(folders() / "bert");
  const std::vector<std::string> blanks = {"The " + fill.mask() + " sat."};
  const auto before = fill(blanks)[0][0];
  freeze(fill);
  const auto after = fill(blanks)[0][0];
  for (std::size_t i = 0; i < before.fillings.size(); ++i) {
    EXPECT_EQ(after.fillings[i].score, before.fillings[i].score);
  }
}

}  // namespace
}  // namespace tessera::models
