// Sentence encoders against plain torch (golden/README.md, "folders/"), and their errors.
#include "models/hugging_face/sentence_encoder.h"

#include <filesystem>

#include "models/hugging_face/hugging_face.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/reduce.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;
using Path = std::filesystem::path;

/// A copy of a golden folder, in which files can be replaced.
struct ScratchFolder {
  TemporaryFolder folder;

  explicit ScratchFolder(const std::string& name) {
    std::filesystem::copy(folders() / name, folder.path(),
                          std::filesystem::copy_options::recursive);
  }
  const Path& path() const { return folder.path(); }

  /// Writes a file; an empty text removes it.
  void put(const std::string& file, const std::string& text) {
    std::filesystem::remove(path() / file);
    if (!text.empty()) folder.write(file, text);
  }
};

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : list.items()) texts.emplace_back(text.text());
  return texts;
}

TaskOptions options_of(const Json& json) {
  TaskOptions options = {.truncate_dim = json.integer("truncate_dim", JsonRange{}, 0),
                         .normalize = json.boolean("normalize", false)};
  if (json.has("prompt")) options.prompt = json.text("prompt");
  if (json.has("prompt_name")) options.prompt_name = json.text("prompt_name");
  return options;
}

class SentenceEncoderTest : public ::testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

/// The embedding of each text by itself, and of all in small batches, has the bits of `all`.
void expect_same_bits(const SentenceEncoder& model, const std::vector<std::string>& texts,
                      TaskOptions options, const Tensor& all) {
  options.batch_size = 2;
  set_thread_count(3);
  EXPECT_TRUE(same_bits(model.encode(texts, options), all));
  set_thread_count(0);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto row = static_cast<index_t>(i);
    EXPECT_TRUE(same_bits(model.encode({texts[i]}, options), all.slice(0, row, row + 1)));
  }
}

TEST_F(SentenceEncoderTest, AgreesWithTorch) {
  for (const char* name : {"sentence", "static"}) {
    const Json whole = read_json(folders() / name / "cases.json");
    const auto expected = load_npz(folders() / name / "expected.npz");
    const std::vector<std::string> texts = texts_of(whole.at("texts"));
    for (const Json& one : whole.at("cases").items()) {
      SCOPED_TRACE(std::string(name) + " " + one.text("name"));
      ScratchFolder scratch(name);
      for (const Json& file : one.at("files").items()) {
        scratch.put(std::string(file.key()), file.is_null() ? "" : JsonText(file).text());
      }
      const SentenceEncoder model = load_sentence_encoder(scratch.path());
      const TaskOptions options = options_of(one.at("options"));
      const Tensor y = model.encode(texts, options);
      EXPECT_TRUE(near(y, array(expected.at(one.text("name"))), 0, 1e-5));
      expect_same_bits(model, texts, options, y);
    }
  }
}

TEST_F(SentenceEncoderTest, EmbedsTokensForTraining) {
  ScratchFolder scratch("sentence");
  scratch.put("modules.json", R"([{"type": "Transformer", "path": ""}, {"type": "Pooling",
    "path": "1_Pooling"}, {"type": "Dense", "path": "2_Dense"}, {"type": "Normalize", "path": ""}])");
  scratch.put("1_Pooling/config.json",
              R"({"word_embedding_dimension": 12, "include_prompt": false})");
  SentenceEncoder model = load_sentence_encoder(scratch.path());
  const TaskOptions query = {.prompt = "the old "};
  const std::vector<index_t> ids = model.encoding_of("cat sat", query).ids;
  const Tokens tokens = {.ids = from_vector(ids, {1, std::ssize(ids)})};
  constexpr index_t kPrompt = 3;  // [CLS] the old
  const Tensor expected = model.encode({"cat sat"}, query);
  EXPECT_TRUE(same_bits(model(tokens, kPrompt), expected));
  EXPECT_FALSE(same_bits(model(tokens), expected));

  auto& words = std::get<TokenEncoder>(model.words);
  auto& dense = std::get<Dense>(model.modules.front());
  nn::set_requires_grad(words);
  nn::set_requires_grad(dense.linear);
  Tape tape;
  const Tensor y = model(tokens, kPrompt);
  EXPECT_TRUE(same_bits(y, expected));
  tape.backward(sum(y));
  EXPECT_TRUE(dense.linear.weight->grad().defined());
  nn::for_each_parameter(words, [](const std::string& name, const Tensor& parameter) {
    EXPECT_TRUE(parameter.grad().defined()) << name;
  });
}

TEST_F(SentenceEncoderTest, MeasuresSimilarity) {
  const auto expected = load_npz(folders() / "sentence" / "expected.npz");
  const Tensor x = expected.at("similarity.of").to(kFloat32);
  const char* kNames[] = {"cosine", "dot", "euclidean", "manhattan"};
  for (int kind = 0; kind < 4; ++kind) {
    const Tensor y = similarity(static_cast<Similarity>(kind), x.slice(0, 0, 3), x.slice(0, 2));
    EXPECT_TRUE(near(y, array(expected.at(std::string("similarity.") + kNames[kind])), 1e-5, 1e-5));
  }
  const Tensor zero = zeros({1, 4});
  EXPECT_EQ(similarity(Similarity::kCosine, zero, ones({1, 4})).item<float>(), 0.0f);
  EXPECT_TRUE(throws("similarity", {"(1, 4)", "(2, 3)"}, [&] {
    similarity(Similarity::kDot, zero, zeros({2, 3}));
  }));
}

TEST_F(SentenceEncoderTest, ChoosesPromptsByWhatATextIs) {
  ScratchFolder scratch("sentence");
  const std::vector<std::string> texts = {"cat"};
  const auto settings = [&](const std::string& prompts) {
    scratch.put("config_sentence_transformers.json", R"({"prompts": )" + prompts + "}");
    return load_sentence_encoder(scratch.path());
  };
  const auto model = settings(R"({"query": "what ", "passage": "a ", "corpus": "the "})");
  const auto given = [&](const char* prompt) { return model.encode(texts, {.prompt = prompt}); };
  EXPECT_TRUE(same_bits(model.encode_queries(texts), given("what ")));
  EXPECT_TRUE(same_bits(model.encode_documents(texts), given("a ")));
  EXPECT_TRUE(same_bits(model.encode_documents(texts, {.prompt_name = "corpus"}), given("the ")));
  EXPECT_TRUE(same_bits(model.encode_queries(texts, {.prompt = ""}), model.encode(texts)));
  const auto plain = settings("{}");
  EXPECT_TRUE(same_bits(plain.encode_queries(texts), model.encode(texts)));
  EXPECT_TRUE(throws("SentenceEncoder", {"'quarry'", "one of 'corpus', 'passage', 'query', got"},
                     [&] { model.encode(texts, {.prompt_name = "quarry"}); }));
  EXPECT_TRUE(throws("SentenceEncoder", {"'query'", "no prompts"},
                     [&] { plain.encode(texts, {.prompt_name = "query"}); }));
}

TEST_F(SentenceEncoderTest, TakesNoTextsAndRefusesBadOnes) {
  const auto model = load_sentence_encoder(folders() / "sentence");
  EXPECT_EQ(model.encode(std::vector<std::string>{}).shape(), (Shape{0, model.width}));
  EXPECT_EQ(model.encode(std::vector<std::string>{}, {.truncate_dim = 3}).shape(), (Shape{0, 3}));
  EXPECT_TRUE(throws("SentenceEncoder", {"truncate_dim", "12", "13"},
                     [&] { model.encode({"cat"}, {.truncate_dim = 13}); }));
  EXPECT_TRUE(
      throws("for_each_batch", {"batch_size"}, [&] { model.encode({"cat"}, {.batch_size = 0}); }));
  EXPECT_THROW(model.encode({"cat", "\xff"}), std::exception);
}

TEST_F(SentenceEncoderTest, LeavesAPromptOut) {
  EXPECT_TRUE(same_bits(Normalize{}(zeros({2, 3})), zeros({2, 3})));
  const Tensor x = tensor({{{1.0}, {2.0}, {4.0}}, {{5.0}, {7.0}, {9.0}}});
  const Tokens tokens = {.lengths = tensor({3, 1})};
  const std::vector<Pooling> poolings = {Pooling::kMean, Pooling::kCls, Pooling::kWeightedMean};
  const Tensor y = pool_sentences(x, tokens, poolings, 1);
  EXPECT_TRUE(
      near(y, array(tensor({{3.0, 2.0, (2 * 2 + 3 * 4) / 5.0}, {0.0, 0.0, 0.0}})), 0, 1e-6));
  EXPECT_TRUE(same_bits(pool_sentences(x, tokens, poolings, 3), zeros({2, 3})));
  EXPECT_TRUE(same_bits(pool_sentences(x, {}, poolings).slice(1, 0, 1), Pooling::kMean(x)));
}

TEST_F(SentenceEncoderTest, CleansTexts) {
  EXPECT_EQ(cleaned(" \t\n a b\u00a0\u3000\x1f", false), "a b");
  EXPECT_EQ(cleaned(" \u2003 ", false), "");
  EXPECT_EQ(cleaned("", true), "");
  EXPECT_EQ(cleaned(" \u00c4BC\u0130 ", true), "\u00e4bci\u0307");
  EXPECT_EQ(cleaned(" \xff ", true), " \xff ");
}

TEST_F(SentenceEncoderTest, RefusesBadFolders) {
  const std::string rows =
      R"([{"type": "a.Transformer", "path": ""}, {"type": "b.Pooling", "path": "1_Pooling"}, )";
  const auto row = [&](const std::string& type, const std::string& path) {
    return rows + R"({"type": "x.)" + type + R"(", "path": ")" + path + "\"}]";
  };
  std::string many = rows + R"({"type": "x.Normalize", "path": ""})";
  for (int i = 0; i < 14; ++i) many += R"(, {"type": "x.Normalize", "path": ""})";
  const std::string type = "[2].type: must be Normalize, Dense...got ";
  const std::string no_pooling =
      R"([{"type": "Transformer", "path": ""}, {"type": "Normalize", "path": ""}])";
  const std::string pooling = "1_Pooling/config.json", bert = "sentence_bert_config.json";
  const std::string settings = "config_sentence_transformers.json";
  const std::vector<std::array<std::string, 3>> cases = {
      {"modules.json", "{}", "modules.json...a list"},
      {"modules.json", "[]", "modules.json...got none"},
      {"modules.json", many + "]", "modules.json...at most 16 modules"},
      {"modules.json", row("WordWeights", ""), type + "'WordWeights'"},
      {"modules.json", row("Pooling", "1_Pooling"), type + "'Pooling'"},
      {"modules.json", row("Dense", "../x"), "[2].path...inside...'../x'"},
      {"modules.json", row("Dense", "/etc"), "[2].path...inside...'/etc'"},
      {"modules.json", row("Dense", "no_such"), "no_such/config.json"},
      {"modules.json", R"([{"type": "Router", "path": ""}])", "[0].type...Router"},
      {"modules.json", R"([{"type": "x.Transformer"}])", "[0]"},
      {"modules.json", no_pooling, "[1].type...must be Pooling...'Normalize'"},
      {pooling, "", pooling},
      {pooling, R"({"word_embedding_dimension": 13})",
       pooling + ": word_embedding_dimension...must be 12...13"},
      {pooling, R"({"pooling_mode": "median"})", "pooling_mode...weightedmean...'median'"},
      {pooling, R"({"pooling_mode": []})", "pooling_mode...none"},
      {pooling, R"({"pooling_mode_cls_token": "yes"})", "pooling_mode_cls_token...'yes'"},
      {bert, R"({"max_seq_length": 0})", "max_seq_length"},
      {bert, "[]", bert + "...an object"},
      {settings, R"({"similarity_fn_name": "jaccard"})",
       "similarity_fn_name...manhattan...'jaccard'"},
      {settings, R"({"prompts": {"a": 1}})", "prompts.a"},
      {settings, R"({"default_prompt_name": "a"})", "default_prompt_name...'a'"},
      {"0_StaticEmbedding/model.safetensors", "", "model.safetensors"},
      {"0_StaticEmbedding/tokenizer.json", "", "0_StaticEmbedding"},
  };
  for (const auto& [file, text, words] : cases) {
    ScratchFolder scratch(file.starts_with("0_Static") ? "static" : "sentence");
    scratch.put(file, text);
    expect_refused([&] { load_sentence_encoder(scratch.path()); }, words);
  }
}

TEST_F(SentenceEncoderTest, RefusesAMaxLengthAboveTheModels) {
  const SentenceEncoder model = load_sentence_encoder(folders() / "sentence");
  const index_t most = model.reader.max_length;
  EXPECT_NO_THROW(model.encode({"the cat"}, {.max_length = most}));
  EXPECT_TRUE(throws("TaskOptions", {str_cat("max_length must be at most ", most, ",")},
                     [&] { model.encode({"the cat"}, {.max_length = most + 1}); }));
  EXPECT_TRUE(throws("TaskOptions", {"max_length must be at least 0, got -1"},
                     [&] { model.encode({"the cat"}, {.max_length = -1}); }));
}

TEST_F(SentenceEncoderTest, RefusesBadStaticEmbeddings) {
  ScratchFolder scratch("static");
  const auto error = [&](const std::string& name, const Tensor& table) {
    save_safetensors(scratch.path() / "0_StaticEmbedding/model.safetensors", {{name, table}});
    return file_error([&] { load_sentence_encoder(scratch.path()); });
  };
  for (const Shape& shape : {Shape{6}, Shape{0, 4}, Shape{4, 0}}) {
    EXPECT_TRUE(error("embeddings", zeros(shape))
                    .ends_with(str_cat("/model.safetensors: tensor 'embeddings': must have 2 "
                                       "dimensions of at least 1, got shape ",
                                       shape)))
        << shape;
  }
  EXPECT_TRUE(error("x", zeros({6, 4})).ends_with("tensor 'embedding.weight' not found"));
}

TEST_F(SentenceEncoderTest, RefusesBadDenseLayers) {
  ScratchFolder scratch("sentence");
  scratch.put("modules.json", R"([{"type": "Transformer", "path": ""}, {"type": "Pooling",
    "path": "1_Pooling"}, {"type": "Dense", "path": "2_Dense"}])");
  const auto refuses = [&](const std::string& config, const std::string& words) {
    scratch.put("2_Dense/config.json", "{" + config + "}");
    expect_refused([&] { load_sentence_encoder(scratch.path()); }, words);
  };
  refuses(R"("in_features": 5, "out_features": 7)", "in_features: must be 12");
  refuses(R"("in_features": 12)", "out_features");
  refuses(R"("out_features": 6)",
          "2_Dense/model.safetensors: tensor 'linear.weight': shape must be (6, 12) by "
          "config.json, got (7, 12)");
  refuses(R"("out_features": 100000000)", "out_features");
  refuses(R"("out_features": 7, "activation_function": "torch.Mish")", "torch.Mish");
  refuses(R"("out_features": 7, "module_input_name": "token_embeddings")", "module_input_name");
  std::filesystem::rename(scratch.path() / "2_Dense/model.safetensors",
                          scratch.path() / "2_Dense/pytorch_model.bin");
  refuses(R"("out_features": 7)", "pytorch_model.bin");
}

}  // namespace
}  // namespace tessera::models
