// Weights and outputs that are NaN or infinite: every task must report them.
#include "tessera/models/hugging_face/hugging_face.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"
#include "tests/support/wide_folder.h"

namespace tessera::models {
namespace {

using namespace test;
using Path = std::filesystem::path;

/// Runs a task with these weights, and with them packed.
template <class Task, class Body>
void for_both(Task task, const Body& body) {
  body(task);
  prepack(task);
  body(task);
}

/// Every task of the folder "bert" reads these two texts; only the second contains "cat".
const std::vector<std::string> kSpoiledTexts = {"the old river [MASK]", "the cat [MASK]"};

/// Calls `check(run)` for each task; `run` reads the texts.
template <class Check>
void for_each_task(EditedFolder& folder, const Check& check) {
  const TaskOptions options = {.name = [](index_t i) { return str_cat("line ", i + 11); }};
  for_both(load_mask_filler(folder.path()),
           [&](const MaskFiller& task) { check([&] { task(kSpoiledTexts, {.task = options}); }); });
  const auto all = folder.tensors;
  folder.leave_out({"classifier"});
  for_both(load_question_answerer(folder.path()), [&](const QuestionAnswerer& task) {
    const std::vector<Question> questions = {{"who", kSpoiledTexts[0]}, {"who", kSpoiledTexts[1]}};
    check([&] { task(questions, {.task = options}); });
  });
  folder.tensors = all;
  folder.leave_out({"qa_outputs"});
  for_both(load_token_tagger(folder.path()), [&](const TokenTagger& task) {
    check([&] { task(kSpoiledTexts, AggregationStrategy::kSimple, options); });
  });
  for_both(load_text_classifier(folder.path()),
           [&](const TextClassifier& task) { check([&] { task(kSpoiledTexts, options); }); });
  for_both(load_cross_encoder(folder.path()), [&](const TextClassifier& task) {
    const std::vector<text::TextPair> pairs = {{"who", kSpoiledTexts[0]},
                                               {"who", kSpoiledTexts[1]}};
    check([&] { task.scores(pairs, options); });
  });
  for_both(load_sentence_encoder(folder.path()), [&](const SentenceEncoder& task) {
    check([&] { task.encode(kSpoiledTexts, options); });
  });
}

constexpr float kSpoiledInf = std::numeric_limits<float>::infinity();

TEST(FiniteOutputs, NameTheWeightThatIsNotFinite) {
  for (const float value : {std::nanf(""), kSpoiledInf, -kSpoiledInf}) {
    EditedFolder edited("bert");
    const std::string name = "bert.encoder.layer.1.output.dense.weight";
    edited.tensors.at(name).select(0, 3).select(0, 5).fill(static_cast<double>(value));
    edited.save();
    int runs = 0;
    for_each_task(edited, [&](const auto& run) {
      ++runs;
      EXPECT_EQ(file_error(run),
                str_cat(edited.path().string(), "/model.safetensors: tensor '", name,
                        "': weights must be finite, got ", value, " at (3, 5)"));
    });
    EXPECT_EQ(runs, 12);
  }
}

// All weights are finite, but a sum of them is not.
TEST(FiniteOutputs, NameTheTextWhereAllWeightsAreFinite) {
  EditedFolder edited("bert");
  const index_t cat = text::load_tokenizer(edited.path())->id("cat");
  edited.tensors.at("bert.embeddings.word_embeddings.weight").select(0, cat).fill(3e38);
  edited.tensors.at("bert.embeddings.position_embeddings.weight").fill(3e38);
  edited.save();
  for_each_task(edited, [&](const auto& run) {
    EXPECT_EQ(file_error(run), "line 12: the model's output must be finite, got nan");
    EXPECT_THROW(run(), NotFinite);
  });
}

// With weights in int8, a text that is not finite does not spoil the other texts of its batch.
TEST(FiniteOutputs, NameTheTextInInt8) {
  const TemporaryFolder scratch;
  const Path folder = write_wide_folder(folders() / "bert", scratch.path() / "wide");
  const index_t cat = text::load_tokenizer(folder)->id("cat");
  auto tensors = load_safetensors(folder / "model.safetensors").tensors;
  tensors.at("bert.embeddings.word_embeddings.weight").select(0, cat).fill(3e38);
  tensors.at("bert.embeddings.position_embeddings.weight").fill(3e38);
  save_safetensors(folder / "model.safetensors", tensors);
  SentenceEncoder model = load_sentence_encoder(folder);
  const auto spoiled = [&] { model.encode(kSpoiledTexts); };
  const std::string want = file_error(spoiled);
  EXPECT_EQ(want, "text 1: the model's output must be finite, got nan");
  prepack(model, {.format = WeightFormat::kInt8});
  EXPECT_EQ(file_error(spoiled), want);
  EXPECT_THROW(spoiled(), NotFinite);
}

TEST(FiniteOutputs, NameTheWeightOfAModule) {
  const EditedFolder edited("sentence");
  edited.write("modules.json", R"([{"type": "Transformer", "path": ""}, {"type": "Pooling",
    "path": "1_Pooling"}, {"type": "Dense", "path": "2_Dense"}])");
  const Path file = edited.path() / "2_Dense" / "model.safetensors";
  auto tensors = load_safetensors(file).tensors;
  tensors.at("linear.bias").select(0, 2).fill(std::nan(""));
  save_safetensors(file, tensors);
  const SentenceEncoder model = load_sentence_encoder(edited.path());
  EXPECT_EQ(file_error([&] { model.encode(kSpoiledTexts); }),
            file.string() + ": tensor 'linear.bias': weights must be finite, got nan at (2,)");
}

TEST(FiniteOutputs, NameTheTextWhereTheFolderIsGone) {
  const EditedFolder edited("sentence");
  SentenceEncoder model = load_sentence_encoder(edited.path());
  std::get<TokenEncoder>(model.token_encoder).embeddings.word.weight->fill(std::nan(""));
  std::filesystem::remove_all(edited.path());
  EXPECT_EQ(file_error([&] { model.encode({kSpoiledTexts[0]}); }),
            "text 0: the model's output must be finite, got nan");
}

}  // namespace
}  // namespace tessera::models
