// Results of pretrained models for texts: classes, pairs, tags, answers and blanks, the same as
// from the pipelines of transformers, in the reference's tasks.json.
#include "tessera/models/hugging_face/hugging_face.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

Json tasks(const std::string& name) {
  return read_json(folders() / name / "tasks.json");
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.items()) texts.emplace_back(text.text());
  return texts;
}

std::vector<text::TextPair> pairs_of(const Json& rows) {
  std::vector<text::TextPair> pairs;
  for (const Json& row : rows.items()) {
    const auto texts = texts_of(row.at("texts"));
    pairs.push_back({texts[0], texts[1]});
  }
  return pairs;
}

/// Every class with its score, the best first.
void expect_classes(const std::vector<models::ClassScore>& got, const Json& want) {
  EXPECT_EQ(std::ssize(got), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i].score, want.number(got[i].label), 1e-5) << got[i].label;
    if (i > 0) {
      EXPECT_LE(got[i].score, got[i - 1].score);
    }
  }
}

TEST(PretrainedTasks, ClassesOfTexts) {
  const auto texts = texts_of(tasks("bert").at("texts"));
  for (const Json& problem : tasks("bert").at("classes").items()) {
    SCOPED_TRACE(problem.key());
    EditedFolder edited("bert");
    edited.leave_out({"qa_outputs"});
    edited.replace("config.json", "\"use_cache\"",
                   "\"problem_type\": \"" + std::string(problem.key()) + "\", \"use_cache\"");
    const auto got = models::load_text_classifier(edited.path())(texts);
    ASSERT_EQ(std::ssize(got), problem.size());
    for (std::size_t i = 0; const Json& want : problem.items()) expect_classes(got[i++], want);
  }
}

TEST(PretrainedTasks, ClassesOfPairs) {
  EditedFolder edited("bert");
  edited.leave_out({"qa_outputs"});
  const Json rows = tasks("bert").at("pairs");
  const auto got = models::load_text_classifier(edited.path())(pairs_of(rows));
  for (std::size_t i = 0; const Json& row : rows.items())
    expect_classes(got[i++], row.at("classes"));
}

TEST(PretrainedTasks, ScoresOfPairs) {
  const Json rows = tasks("reranker").at("pairs");
  const auto pairs = pairs_of(rows);
  EditedFolder edited("reranker");
  const Tensor scores = models::load_cross_encoder(edited.path()).scores(pairs);
  edited.replace("config.json", "\"use_cache\"",
                 R"("sentence_transformers": {"activation_fn":
                     "torch.nn.modules.linear.Identity"}, "use_cache")");
  const Tensor logits = models::load_cross_encoder(edited.path()).scores(pairs);
  EXPECT_EQ(scores.shape(), (Shape{rows.size(), 1}));
  for (index_t i = 0; const Json& row : rows.items()) {
    EXPECT_NEAR(scores.item_at<float>({i, 0}), row.number("score"), 1e-5);
    EXPECT_NEAR(logits.item_at<float>({i, 0}), row.number("logit"), 1e-5);
    ++i;
  }
}

TEST(PretrainedTasks, Tags) {
  EditedFolder edited("bert");
  edited.leave_out({"qa_outputs"});
  const auto tagger = models::load_token_tagger(edited.path());
  const Json rows = tasks("bert").at("tags");
  std::vector<std::string> texts;
  for (const Json& row : rows.items()) texts.push_back(row.text("text"));
  for (const std::string strategy : {"none", "simple", "first", "average", "max"}) {
    const auto got = tagger(texts, models::aggregation_strategy(strategy));
    for (std::size_t i = 0; const Json& row : rows.items()) {
      SCOPED_TRACE(strategy + ": " + texts[i]);
      ASSERT_EQ(std::ssize(got[i]), row.at(strategy).size());
      for (std::size_t j = 0; const Json& want : row.at(strategy).items()) {
        const models::Tag& tag = got[i][j++];
        EXPECT_EQ(tag.label, want.text("label"));
        EXPECT_NEAR(tag.score, want.number("score"), 1e-5);
        EXPECT_EQ(tag.bytes, (text::Span{want.integer("start"), want.integer("end")}));
      }
      ++i;
    }
  }
}

TEST(PretrainedTasks, Answers) {
  EditedFolder edited("bert");
  edited.leave_out({"classifier"});
  const auto answerer = models::load_question_answerer(edited.path());
  for (const Json& row : tasks("bert").at("answers").items()) {
    const std::vector<models::Question> questions = {{row.text("question"), row.text("context")}};
    const bool none = row.boolean("impossible");
    SCOPED_TRACE(questions[0].question + (none ? ", or nothing" : ""));
    const auto got = answerer(questions, {.allow_no_answer = none});
    const Json want = row.at("answer");
    ASSERT_EQ(got[0].size(), 1U);
    EXPECT_EQ(got[0][0].text, want.text("answer"));
    EXPECT_NEAR(got[0][0].score, want.number("score"), 1e-5);
    EXPECT_EQ(got[0][0].bytes, (text::Span{want.integer("start"), want.integer("end")}));
  }
}

TEST(PretrainedTasks, Blanks) {
  const auto filler = models::load_mask_filler(folders() / "bert");
  EXPECT_EQ(filler.mask(), "[MASK]");
  for (const Json& row : tasks("bert").at("blanks").items()) {
    const std::vector<std::string> texts = {row.text("text")};
    SCOPED_TRACE(texts[0]);
    const auto got = filler(texts);
    ASSERT_EQ(got[0].size(), 1U);
    ASSERT_EQ(std::ssize(got[0][0].fillings), row.at("fills").size());
    for (std::size_t i = 0; const Json& want : row.at("fills").items()) {
      const models::Filling& filling = got[0][0].fillings[i++];
      EXPECT_EQ(filling.id, want.integer("id"));
      EXPECT_NEAR(filling.score, want.number("score"), 1e-5);
    }
  }
}

// outputs_test.cpp has the other faults.
TEST(PretrainedTasks, LabelsThatDoNotFitGetOneLine) {
  const std::vector<std::array<std::string, 3>> faults = {
      {R"("1": "B-PER")", R"("7": "B-PER")", "id2label"},
      {R"("4": "I-LOC")", R"("4": "I-LOC", "5": "X")", "id2label"},
      {R"("use_cache")", R"("problem_type": "guess", "use_cache")", "problem_type...'guess'"}};
  for (const auto& [from, to, words] : faults) {
    SCOPED_TRACE(from + " -> " + to);
    EditedFolder edited("bert");
    edited.leave_out({"qa_outputs"});
    edited.replace("config.json", from, to);
    expect_refused([&] { models::load_text_classifier(edited.path()); }, "config.json..." + words);
  }
}

// transformers follows id2label.
TEST(PretrainedTasks, LabelsThatContradictEachOtherAreWarnings) {
  EditedFolder edited("bert");
  edited.leave_out({"qa_outputs"});
  const auto before = models::load_text_classifier(edited.path());
  EXPECT_TRUE(before.reader.warnings.empty());
  edited.replace("config.json", R"("B-PER": 1)", R"("B-PER": 2)");
  edited.set("num_labels", "4");
  const auto model = models::load_text_classifier(edited.path());
  EXPECT_EQ(model.labels, before.labels);
  ASSERT_EQ(model.reader.warnings.size(), 2U);
  EXPECT_TRUE(contains(model.reader.warnings[0], "num_labels: must be 5"));
  EXPECT_TRUE(contains(model.reader.warnings[1], "label2id.B-PER: "));
  EXPECT_EQ(models::load_token_tagger(edited.path()).reader.warnings, model.reader.warnings);
}

// Newer versions of sentence-transformers put the prompt before each query.
TEST(PretrainedTasks, CrossEncodersHaveNoPrompt) {
  const EditedFolder edited("reranker");
  const std::string file = "config_sentence_transformers.json";
  edited.write(file, R"({"prompts": {"a": "find "}, "default_prompt_name": null})");
  EXPECT_NO_THROW(models::load_cross_encoder(edited.path()));
  edited.write(file, R"({"prompts": {"a": "find "}, "default_prompt_name": "a"})");
  expect_refused([&] { models::load_cross_encoder(edited.path()); },
                 file + ": default_prompt_name: must be null for a cross-encoder");
}

// Newer versions save the activation next to the modules, not in config.json.
TEST(PretrainedTasks, CrossEncodersReadTheActivationOfNewerVersions) {
  const EditedFolder edited("reranker");
  const std::string file = "config_sentence_transformers.json";
  edited.set("sbert_ce_default_activation_function", "null");
  EXPECT_EQ(models::load_cross_encoder(edited.path()).scoring, models::Scoring::kSigmoid);
  edited.write(file, R"({"activation_fn": "torch.nn.modules.linear.Identity"})");
  const auto model = models::load_cross_encoder(edited.path());
  EXPECT_EQ(model.scoring, models::Scoring::kNone);
  const TemporaryFolder scratch;
  models::save_folder(scratch.path() / "to", edited.path(), model);
  EXPECT_EQ(models::load_cross_encoder(scratch.path() / "to").scoring, models::Scoring::kNone);
  edited.write(file, R"({"activation_fn": "own.Identity"})");
  expect_refused([&] { models::load_cross_encoder(edited.path()); },
                 "activation_fn...own.Identity");
}

// With left padding, transformers would read the context before the question.
TEST(PretrainedTasks, QuestionsArePaddedOnTheRight) {
  EditedFolder edited("bert");
  edited.leave_out({"classifier"});
  edited.replace("tokenizer_config.json", "{", R"({"padding_side": "left", )");
  expect_refused(
      [&] { models::load_question_answerer(edited.path()); },
      "padding_side of tokenizer_config.json, or...must be right for questions, got left");
  EXPECT_NO_THROW(models::load_mask_filler(edited.path()));
}

// A part that a task lacks is an error only if that task is requested.
TEST(PretrainedTasks, AbsentPartsGetOneLine) {
  EditedFolder no_pooler("bert"), no_tokenizer("bert"), no_head("bert");
  no_pooler.leave_out({"qa_outputs", "pooler"});
  expect_refused([&] { models::load_text_classifier(no_pooler.path()); }, "pooler");
  EXPECT_NO_THROW(models::load_token_tagger(no_pooler.path()));
  no_tokenizer.remove("vocab.txt");
  expect_refused([&] { models::load_mask_filler(no_tokenizer.path()); }, "tokenizer");
  no_head.leave_out({"qa_outputs", "classifier", "cls."});
  const std::string folder = no_head.path().string();
  expect_refused([&] { models::load_token_tagger(folder); }, folder);
  expect_refused([&] { models::load_question_answerer(folder); }, folder);
  expect_refused([&] { models::load_mask_filler(folder); }, folder);
}

// Layers of equal shape that belong to other tasks: their scores would seem valid.
TEST(PretrainedTasks, TakeNoHeadOfAnotherTask) {
  const auto wants = [](const auto& load, const EditedFolder& folder, const std::string& name) {
    expect_refused([&] { load(folder.path()); }, name + "...not found");
  };
  EditedFolder answers("bert"), classes("bert");
  answers.leave_out({"classifier"});
  classes.leave_out({"qa_outputs"});
  for (const char* labels : {"id2label", "label2id"}) {
    answers.replace("config.json", labels, std::string("not_") + labels);
  }
  wants(models::load_text_classifier, answers, "classifier.weight");
  wants(models::load_token_tagger, answers, "classifier.weight");
  wants(models::load_question_answerer, classes, "qa_outputs.weight");
  for (const char* name : {"roberta", "mpnet", "electra"}) {
    wants(models::load_token_tagger, EditedFolder(name), "'classifier.weight'");
  }
}

}  // namespace
}  // namespace tessera::test
