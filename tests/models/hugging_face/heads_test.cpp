// The heads of folders: PyTorch's results for texts and tokens.
#include "models/hugging_face/hugging_face.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// Checks `load(folder).model` against the entry in every folder that has it. `others` are names of
/// tensors that no file of that task has.
template <class Load>
void check_heads(const std::string& entry, std::size_t count,
                 const std::vector<std::string>& others, Load load) {
  const auto names = folders_with(entry);
  EXPECT_EQ(names.size(), count) << entry;
  for (const std::string& name : names) {
    SCOPED_TRACE(name + ", " + entry);
    EditedFolder edited(name);
    edited.leave_out(others);
    const auto loaded = load(edited.path());
    Pretrained(name).expect_parity(
        entry, [&](const models::Tokens& tokens) { return loaded.model(tokens); });
  }
}

TEST(PretrainedHeads, ClassifyTexts) {
  check_heads("sequence", 10, {"qa_outputs"},
              [](const auto& folder) { return models::load_text_classifier(folder); });
}

// An old file may have a pooler that its head does not use.
TEST(PretrainedHeads, ClassifyTokens) {
  check_heads("tokens", 7, {"qa_outputs", "pre_classifier"},
              [](const auto& folder) { return models::load_token_tagger(folder); });
}

TEST(PretrainedHeads, FindTheEndsOfAnswers) {
  for (const std::string& name : folders_with("answers")) {
    SCOPED_TRACE(name);
    EditedFolder edited(name);
    if (edited.tensors.contains("qa_outputs.weight")) edited.leave_out({"classifier"});
    const auto loaded = models::load_question_answerer(edited.path());
    Pretrained(name).expect_parity(
        "answers", [&](const models::Tokens& tokens) { return loaded.model(tokens); });
  }
  EXPECT_EQ(folders_with("answers").size(), 9U);
}

TEST(PretrainedHeads, GuessMaskedTokens) {
  const auto names = folders_with("masked");
  EXPECT_EQ(names.size(), 10U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Pretrained pretrained(name);
    const auto loaded = models::load_mask_filler(pretrained.folder());
    const auto places = pretrained.expected().array("places").to_vector<index_t>();
    const auto lengths = pretrained.expected().array("lengths").to_vector<index_t>();
    const Tensor& want = pretrained.expected().array("masked");
    for (std::size_t i = 0; i < places.size(); ++i) {
      index_t text = 0, place = places[i];
      while (place >= lengths[static_cast<std::size_t>(text)]) {
        place -= lengths[static_cast<std::size_t>(text++)];
      }
      const Tensor got = loaded.model(pretrained.text(text), tensor({place}));
      EXPECT_TRUE(near(got.select(0, 0), array(want.select(0, static_cast<index_t>(i))), 0, 1e-5))
          << "token " << place << " of text " << text;
    }
  }
}

/// A model of a folder whose head has different names, made by `name` from the model's.
template <class Model, class Options>
Model with_head(const std::string& folder_name, Options options,
                const std::function<std::string(const std::string&)>& name) {
  const models::ModelFolder folder(folders() / folder_name);
  options.tokens = folder.options;
  Model model(options, nn::ParameterSource(
                           [&](const std::string& ours, const Shape& shape, const nn::Init&) {
                             return folder.weight(name(ours), shape);
                           }));
  nn::eval(model);
  return model;
}

TEST(PretrainedHeads, SayWhetherASecondTextFollows) {
  for (const std::string& name : folders_with("next_sentence")) {
    const auto model = with_head<models::SequenceClassifier>(
        name,
        models::SequenceClassifierOptions{.tokens = {},
                                          .classes = 2,
                                          .pooling = models::Pooling::kCls,
                                          .head = models::PredictionHeadOptions{}},
        [](const std::string& ours) {
          return ours.starts_with("classifier.") ? "cls.seq_relationship" + ours.substr(10) : ours;
        });
    Pretrained(name).expect_parity("next_sentence",
                                   [&](const models::Tokens& tokens) { return model(tokens); });
  }
  EXPECT_EQ(folders_with("next_sentence").size(), 2U);
}

TEST(PretrainedHeads, TellReplacedTokens) {
  const auto model = with_head<models::TokenClassifier>(
      "electra",
      models::TokenClassifierOptions{
          .tokens = {},
          .classes = 1,
          .head = models::PredictionHeadOptions{.activation = nn::Activation::kGelu}},
      [](const std::string& ours) {
        return replaced(
            replaced(ours, "classifier.", "discriminator_predictions.dense_prediction."),
            "head.dense.", "discriminator_predictions.dense.");
      });
  Pretrained("electra").expect_parity("replaced",
                                      [&](const models::Tokens& tokens) { return model(tokens); });
}

}  // namespace
}  // namespace tessera::test
