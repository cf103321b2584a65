// Saved folders: their contents, and that they are the same model when loaded again.
#include "tessera/models/hugging_face/save_folder.h"

#include <filesystem>

#include "tests/support/distributions.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;
using Path = std::filesystem::path;
using Shapes = std::map<std::string, Shape>;

/// Transformers' names of the heads of a family: modules next to the encoder, which has its prefix.
struct HeadNames {
  std::string prefix, classes;
  std::string sequence = "classifier.dense. classifier.out_proj.";
  std::string tokens = "classifier.";
  std::string answers = "qa_outputs.";
  std::string masked = "lm_head.";
};

const HeadNames& names_of(const std::string& family) {
  const std::string modern = "head. classifier.";
  static const std::map<std::string, HeadNames> all = {
      {"bert",
       {"bert.", "Bert", "bert.pooler.dense. classifier.", "classifier.", "qa_outputs.",
        "cls.predictions."}},
      {"roberta", {.prefix = "roberta.", .classes = "Roberta"}},
      {"xlm-roberta", {.prefix = "roberta.", .classes = "XLMRoberta"}},
      {"camembert", {.prefix = "roberta.", .classes = "Camembert"}},
      {"mpnet", {.prefix = "mpnet.", .classes = "MPNet"}},
      {"distilbert",
       {"distilbert.", "DistilBert", "pre_classifier. classifier.", "classifier.", "qa_outputs.",
        "vocab_transform. vocab_layer_norm. vocab_projector."}},
      {"albert",
       {"albert.", "Albert", "albert.pooler. classifier.", "classifier.", "qa_outputs.",
        "predictions."}},
      {"electra",
       {.prefix = "electra.",
        .classes = "Electra",
        .masked = "generator_predictions. generator_lm_head."}},
      {"modernbert", {"model.", "ModernBert", modern, modern, modern, "head. decoder."}},
      {"nomic_bert",
       {.prefix = "bert.", .classes = "NomicBert", .sequence = "bert.pooler.dense. classifier."}},
      {"qwen3", {.prefix = "model.", .classes = "Qwen3", .sequence = "", .tokens = ""}},
      {"eurobert", {"model.", "EuroBert", "dense. classifier.", "classifier.", "", "lm_head."}},
      {"deberta-v2",
       {"deberta.", "DebertaV2", "deberta.pooler.dense. classifier.", "classifier.", "qa_outputs.",
        "cls.predictions."}},
      {"new", {.prefix = "new.", .classes = "New", .sequence = "new.pooler.dense. classifier."}},
  };
  return all.at(family);
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

bool begins_with_one(const std::string& name, const std::string& list) {
  for (const std::string& begin : words(list)) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

/// The names that a folder's tensors have in transformers: all with the prefix, weight and bias for
/// gamma and beta; no numbers of positions, no second copy of tied tensors.
Shapes plain_names(const Path& folder, const HeadNames& names) {
  const std::string heads =
      "classifier. qa_outputs. cls. lm_head. pre_classifier. vocab_ predictions. sop_classifier. "
      "discriminator_predictions. generator_ head. decoder. dense.";
  const std::set<std::string> tied = {"cls.predictions.decoder.weight",
                                      "cls.predictions.decoder.bias", "lm_head.decoder.weight",
                                      "lm_head.decoder.bias", "decoder.weight"};
  Shapes shapes;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".safetensors") continue;
    const SafetensorsFile tensors(file.path());
    for (const auto& [stored, shape] : tensors.shapes()) {
      std::string name = replaced(replaced(stored, ".gamma", ".weight"), ".beta", ".bias");
      name = replaced(name, "lm_predictions.lm_head.bias", "cls.predictions.bias");
      name = replaced(name, "lm_predictions.lm_head.", "cls.predictions.transform.");
      if (name.ends_with("position_ids") || tied.contains(name)) continue;
      if (!begins_with_one(name, heads) && !name.starts_with(names.prefix)) {
        name = names.prefix + name;
      }
      shapes.emplace(name, shape);
    }
  }
  return shapes;
}

/// Those of the encoder, and of the modules in `heads`.
Shapes of_task(const Shapes& all, const HeadNames& names, const std::string& heads) {
  Shapes chosen;
  for (const auto& [name, shape] : all) {
    const bool is_pooler = name.starts_with(names.prefix + "pooler.");
    if (begins_with_one(name, heads) || (name.starts_with(names.prefix) && !is_pooler)) {
      chosen.emplace(name, shape);
    }
  }
  return chosen;
}

std::string json_at(const Json& object, const std::string& key) {
  const auto value = object.find(key);
  return value ? JsonText(*value).text() : "";
}

/// Checks that the saved config.json has all keys of `from`, except the given changes.
void expect_config(const Path& saved, const Path& from, const std::string& architecture,
                   const std::set<std::string>& changed = {}) {
  const Json now = read_json(saved / "config.json");
  const Json before = read_json(from / "config.json");
  EXPECT_EQ(json_at(now, "architectures"), "[\"" + architecture + "\"]");
  for (const Json& value : before.items()) {
    const std::string key(value.key());
    if (key == "architectures" || changed.contains(key)) continue;
    EXPECT_EQ(json_at(now, key), key == "torch_dtype" ? "\"float32\"" : json_at(before, key));
  }
}

template <class M>
void expect_same_parameters(const M& a, const M& b) {
  const nn::StateDict left = nn::state_dict(a), right = nn::state_dict(b);
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, tensor] : left) {
    EXPECT_TRUE(same_bits(tensor, right.at(name))) << name;
  }
}

/// Saves the result of `load` from `from`, and loads it again: the same model. Returns the shapes
/// in the file.
template <class Load>
Shapes check_round_trip(const Path& from, const std::string& architecture, Load load) {
  const TemporaryFolder scratch;
  const Path once = scratch.path() / "once";
  const auto task = load(from);
  save_folder(once, from, task);
  EXPECT_EQ(scratch.file_count(), 1);
  const auto again = load(once);
  if constexpr (requires { task.model; }) {
    expect_same_parameters(task.model, again.model);
  } else {
    expect_same_parameters(task, again);
  }
  expect_config(once, from, architecture);
  for (const auto& file : std::filesystem::directory_iterator(from)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("tokenizer") || name.starts_with("vocab")) {
      EXPECT_EQ(file_text(file.path()), file_text(once / name)) << name;
    }
  }
  const SafetensorsFile file(once / "model.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  return file.shapes();
}

std::string family_in(const Path& folder) {
  return read_json(folder / "config.json").text("model_type");
}

/// The folders with the entry, and RoBERTa's classifier as CamemBERT's.
void for_each_folder(const std::string& entry,
                     const std::function<void(EditedFolder&, const HeadNames&)>& check) {
  for (const std::string& name : folders_with(entry)) {
    SCOPED_TRACE(name + ", " + entry);
    EditedFolder edited(name);
    check(edited, names_of(family_in(edited.path())));
    if (entry != "sequence" || name != "roberta") continue;
    edited.replace("config.json", family_in(edited.path()), "camembert");
    check(edited, names_of("camembert"));
  }
}

TEST(SaveFolder, WritesEncoders) {
  for_each_folder("hidden", [](EditedFolder& edited, const HeadNames& names) {
    const Shapes saved =
        check_round_trip(edited.path(), names.classes + "Model",
                         [](const Path& p) { return load_encoder(ModelFolder(p)); });
    Shapes with_prefix;
    for (const auto& [name, shape] : saved) with_prefix.emplace(names.prefix + name, shape);
    EXPECT_EQ(with_prefix,
              of_task(plain_names(edited.path(), names), names, names.prefix + "pooler."));
  });
}

TEST(SaveFolder, WritesHeads) {
  const auto check = [](const std::string& entry, const std::string& architecture,
                        std::string HeadNames::*heads, const auto& load) {
    for_each_folder(entry, [&](EditedFolder& edited, const HeadNames& names) {
      if (entry == "sequence") edited.leave_out({"qa_outputs"});
      EXPECT_EQ(check_round_trip(edited.path(), names.classes + "For" + architecture, load),
                of_task(plain_names(edited.path(), names), names, names.*heads));
    });
  };
  check("sequence", "SequenceClassification", &HeadNames::sequence,
        [](const Path& p) { return load_text_classifier(p); });
  check("tokens", "TokenClassification", &HeadNames::tokens,
        [](const Path& p) { return load_token_tagger(p); });
  check("answers", "QuestionAnswering", &HeadNames::answers,
        [](const Path& p) { return load_question_answerer(p); });
  check("masked", "MaskedLM", &HeadNames::masked,
        [](const Path& p) { return load_mask_filler(p); });
  check_round_trip(folders() / "reranker", "BertForSequenceClassification",
                   [](const Path& p) { return load_cross_encoder(p); });
}

// Without changes the bytes are the same: for a saved folder that is saved again, and for two
// saves.
TEST(SaveFolder, GivesTheSameBytes) {
  for (const char* name : {"bert_old", "distilbert", "albert", "modernbert"}) {
    const TemporaryFolder scratch;
    const Path once = scratch.path() / "once", twice = scratch.path() / "twice/";
    const MaskFiller task = load_mask_filler(folders() / name);
    save_folder(once, folders() / name, task);
    save_folder(twice, folders() / name, task);
    EXPECT_EQ(folder_contents(once), folder_contents(twice));
    save_folder(twice, once, load_mask_filler(once), {.overwrite = true});
    EXPECT_EQ(folder_contents(once), folder_contents(twice));
  }
}

/// The last parts of the names, without the encoder's.
std::set<std::string> head_names(const Path& folder, const std::string& heads) {
  std::set<std::string> found;
  const SafetensorsFile tensors(folder / "model.safetensors");
  for (const auto& [name, shape] : tensors.shapes()) {
    if (begins_with_one(name, heads)) found.insert(name);
  }
  return found;
}

// Every family gets a head, whether the folder has one or not.
TEST(SaveFolder, WritesNewHeads) {
  const std::vector<std::string> labels = {"a", "b \"c\"", "\xc3\xa9"};
  for_each_folder("hidden", [&](EditedFolder& edited, const HeadNames& names) {
    if (names.sequence.empty()) return;  // an embedding model
    const TemporaryFolder scratch;
    Rng rng(3);
    const TextClassifier made = make_text_classifier(edited.path(), labels, Scoring::kSoftmax, rng);
    EXPECT_EQ(made.model.classifier.weight.size(0), 3);
    EXPECT_TRUE(made.model.dropout.training);
    save_folder(scratch.path() / "texts", edited.path(), made);
    const TextClassifier loaded = load_text_classifier(scratch.path() / "texts");
    expect_same_parameters(made.model, loaded.model);
    EXPECT_EQ(loaded.labels, labels);
    EXPECT_EQ(loaded.scoring, Scoring::kSoftmax);
    for (const std::string& module : words(names.sequence)) {
      EXPECT_FALSE(head_names(scratch.path() / "texts", module).empty()) << module;
    }
    expect_config(scratch.path() / "texts", edited.path(),
                  names.classes + "ForSequenceClassification", {"id2label", "label2id"});

    const TokenTagger tagger = make_token_tagger(edited.path(), labels, rng);
    save_folder(scratch.path() / "tokens", edited.path(), tagger);
    expect_same_parameters(tagger.model, load_token_tagger(scratch.path() / "tokens").model);
    EXPECT_FALSE(head_names(scratch.path() / "tokens", names.tokens).empty());
  });
}

TEST(NewHeads, StartAsInTransformers) {
  EditedFolder edited("bert");
  Rng rng(5);
  const auto head = [&](std::size_t classes) {
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < classes; ++i) labels.push_back(std::to_string(i));
    return make_text_classifier(edited.path(), labels, Scoring::kSoftmax, rng).model;
  };
  const ModelFolder folder(edited.path());
  const SequenceClassifier model = head(400);
  EXPECT_NEAR(Moments(model.classifier.weight).deviation, 0.02, 0.001);
  EXPECT_EQ(Moments(model.classifier.bias).deviation, 0);
  const Tensor& pooler = model.head->dense.weight;
  EXPECT_TRUE(same_bits(pooler, folder.weight("pooler.dense.weight", pooler.shape())));
  edited.leave_out({"pooler"});
  edited.replace("config.json", "\"initializer_range\": 0.02", "\"initializer_range\": 0.5");
  edited.replace("config.json", "\"use_cache\"", "\"classifier_dropout\": 0.25, \"use_cache\"");
  const SequenceClassifier wide = head(400);
  EXPECT_NEAR(Moments(wide.classifier.weight).deviation, 0.5, 0.02);
  EXPECT_NEAR(Moments(wide.head->dense.weight).deviation, 0.5, 0.15);
  EXPECT_EQ(Moments(wide.head->dense.bias).deviation, 0);
  EXPECT_EQ(wide.dropout.p, 0.25);
  EXPECT_TRUE(throws("make_text_classifier", {"labels must not be empty"},
                     [&] { make_text_classifier(edited.path(), {}); }));
  EXPECT_TRUE(throws("make_token_tagger", {"'x'", "twice"}, [&] {
    make_token_tagger(edited.path(), {"x", "x"});
  }));
  EXPECT_TRUE(
      throws("make_token_tagger", {"UTF-8"}, [&] { make_token_tagger(edited.path(), {"\xff"}); }));
}

TEST(SaveFolder, WritesWhatScoresMean) {
  const EditedFolder edited("bert_old");
  const TemporaryFolder scratch;
  struct Case {
    Scoring scoring;
    std::vector<std::string> labels;
    std::string problem_type;
  };
  int number = 0;
  for (const Case& one : std::vector<Case>{
           {Scoring::kNone, {"score"}, "regression"},
           {Scoring::kNone, {"x", "y"}, "regression"},
           {Scoring::kSigmoid, {"x", "y"}, "multi_label_classification"},
           {Scoring::kSigmoid, {"x"}, ""},
           {Scoring::kSoftmax, {"x"}, "single_label_classification"},
           {Scoring::kSoftmax, {"x", "y"}, ""},
       }) {
    const Path to = scratch.path() / std::to_string(number++);
    save_folder(to, edited.path(), make_text_classifier(edited.path(), one.labels, one.scoring));
    const Json config = read_json(to / "config.json");
    EXPECT_EQ(config.text("problem_type", ""), one.problem_type);
    if (one.problem_type != "single_label_classification") {
      EXPECT_EQ(load_text_classifier(to).scoring, one.scoring);
    }
    EXPECT_EQ(load_text_classifier(to).labels, one.labels);
  }
  TextClassifier reranker = load_cross_encoder(folders() / "reranker");
  for (const Scoring scoring : {Scoring::kNone, Scoring::kSigmoid, Scoring::kSoftmax}) {
    reranker.scoring = scoring;
    const Path to = scratch.path() / ("pairs" + std::to_string(static_cast<int>(scoring)));
    save_folder(to, folders() / "reranker", reranker);
    EXPECT_EQ(load_cross_encoder(to).scoring, scoring);
  }
  TextClassifier changed = load_text_classifier(folders() / "bert");
  changed.labels.pop_back();
  EXPECT_TRUE(throws("save_folder", {"5", "4"},
                     [&] { save_folder(scratch.path() / "bad", folders() / "bert", changed); }));
  edited.replace("config.json", "\"use_cache\"", "\"num_labels\": 2, \"use_cache\"");
  save_folder(scratch.path() / "three", edited.path(),
              make_text_classifier(edited.path(), {"a", "b", "c"}));
  EXPECT_EQ(load_text_classifier(scratch.path() / "three").labels.size(), 3U);
}

TEST(SaveFolder, RefusesAConfigOfAnotherModel) {
  const EditedFolder edited("bert");
  const TemporaryFolder scratch;
  edited.set("num_hidden_layers", "1");
  const SentenceEncoder model = load_sentence_encoder(folders() / "bert");
  EXPECT_TRUE(throws("save_folder", {"'encoder.layers.1.", "must be absent by config.json"},
                     [&] { save_folder(scratch.path() / "to", edited.path(), model); }));
  EXPECT_EQ(scratch.file_count(), 0);
}

TEST(SaveFolder, WritesSentenceEncoders) {
  const std::set<std::string> kCases = {
      "as_it_is",    "all_modes",       "new_modes_in_order", "no_modules", "two_dense",
      "dense_gelu",  "dense_identity",  "dense_relu",         "layer_norm", "dense_sigmoid",
      "nine_tokens", "prompt_left_out", "default_prompt",     "no_limit",   "lower_case"};
  for (const char* name : {"sentence", "static"}) {
    const Json whole = read_json(folders() / name / "cases.json");
    std::vector<std::string> texts;
    for (const Json& text : whole.at("texts").items()) texts.emplace_back(text.text());
    for (const Json& one : whole.at("cases").items()) {
      if (!kCases.contains(one.text("name"))) continue;
      SCOPED_TRACE(std::string(name) + " " + one.text("name"));
      const TemporaryFolder from, scratch;
      std::filesystem::copy(folders() / name, from.path(),
                            std::filesystem::copy_options::recursive);
      for (const Json& file : one.at("files").items()) {
        std::filesystem::remove(from.path() / file.key());
        if (!file.is_null()) from.write(std::string(file.key()), JsonText(file).text());
      }
      const SentenceEncoder model = load_sentence_encoder(from.path());
      const Path once = scratch.path() / "once", twice = scratch.path() / "twice";
      save_folder(once, from.path(), model);
      const SentenceEncoder again = load_sentence_encoder(once);
      EXPECT_TRUE(same_bits(model.encode(texts), again.encode(texts)));
      EXPECT_TRUE(same_bits(model.encode_query(texts), again.encode_query(texts)));
      EXPECT_EQ(again.reader.max_length, model.reader.max_length);
      EXPECT_EQ(std::filesystem::exists(once / "0_StaticEmbedding/sentence_bert_config.json") ||
                    std::filesystem::exists(once / "sentence_bert_config.json"),
                std::string(name) == "sentence");
      EXPECT_EQ(again.settings.prompts, model.settings.prompts);
      EXPECT_EQ(again.pools_prompt, model.pools_prompt);
      if (one.text("name") != "as_it_is") continue;
      save_folder(twice, once, again);
      EXPECT_EQ(folder_contents(once), folder_contents(twice));
    }
  }
}

TEST(SaveFolder, WritesNewSentenceEncoders) {
  const TemporaryFolder scratch;
  const Path to = scratch.path() / "to";
  SentenceEncoder model = load_sentence_encoder(folders() / "mpnet", Pooling::kCls);
  model.modules.emplace_back(Normalize{});
  model.settings.similarity = Similarity::kDot;
  model.settings.prompts = {{"query", "what \"is\" "}};
  save_folder(to, folders() / "mpnet", model);
  const SentenceEncoder again = load_sentence_encoder(to);
  EXPECT_EQ(again.settings.similarity, Similarity::kDot);
  EXPECT_TRUE(same_bits(model.encode_query({"a cat"}), again.encode_query({"a cat"})));
  EXPECT_TRUE(std::filesystem::is_directory(to / "2_Normalize"));
  model.modules.emplace_back(Dense{nn::Linear(12, 4), [](const Tensor& x) { return x; }});
  EXPECT_TRUE(throws("save_folder", {"activation"},
                     [&] { save_folder(scratch.path() / "other", folders() / "mpnet", model); }));
  EXPECT_EQ(scratch.file_count(), 1);
}

}  // namespace
}  // namespace tessera::models
