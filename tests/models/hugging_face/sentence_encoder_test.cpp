// Sentence encoders against plain torch (golden/README.md, "folders/"), and their errors.
#include "tessera/models/hugging_face/sentence_encoder.h"

#include <cmath>
#include <filesystem>

#include "tessera/models/hugging_face/hugging_face.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/reduce.h"
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
                         .normalize_embeddings = json.boolean("normalize", false)};
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
  const std::vector<index_t> ids = model.tokenize("cat sat", query).ids;
  const Tokens tokens = {.ids = from_vector(ids, {1, std::ssize(ids)})};
  constexpr index_t kPrompt = 3;  // [CLS] the old
  const Tensor expected = model.encode({"cat sat"}, query);
  EXPECT_TRUE(same_bits(model(tokens, kPrompt), expected));
  EXPECT_FALSE(same_bits(model(tokens), expected));

  auto& words = std::get<TokenEncoder>(model.token_encoder);
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
  EXPECT_TRUE(same_bits(model.encode_query(texts), given("what ")));
  EXPECT_TRUE(same_bits(model.encode_document(texts), given("a ")));
  EXPECT_TRUE(same_bits(model.encode_document(texts, {.prompt_name = "corpus"}), given("the ")));
  EXPECT_TRUE(same_bits(model.encode_query(texts, {.prompt = ""}), model.encode(texts)));
  const auto plain = settings("{}");
  EXPECT_TRUE(same_bits(plain.encode_query(texts), model.encode(texts)));
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
      R"([{"type": "sentence_transformers.Transformer", "path": ""},
          {"type": "sentence_transformers.b.Pooling", "path": "1_Pooling"}, )";
  const auto row = [&](const std::string& type, const std::string& path) {
    return rows + R"({"type": "sentence_transformers.x.)" + type + R"(", "path": ")" + path +
           "\"}]";
  };
  std::string many = rows + R"({"type": "Normalize", "path": ""})";
  for (int i = 0; i < 14; ++i) many += R"(, {"type": "Normalize", "path": ""})";
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
      {"modules.json", R"([{"type": "Transformer"}])", "[0]"},
      {"modules.json", R"([{"type": "custom_st.Transformer", "path": ""}])",
       "[0].type: must be a module of sentence_transformers...'custom_st.Transformer'"},
      {"modules.json", R"([{"name": "0", "type": "Transformer", "path": ""},
                          {"name": "0", "type": "Pooling", "path": "1_Pooling"}])",
       "[1].name: must be different for each module...'0'"},
      {"modules.json", no_pooling, "[1].type...must be Pooling...'Normalize'"},
      {pooling, "", pooling},
      {pooling, R"({"word_embedding_dimension": "12"})", pooling + ": word_embedding_dimension"},
      {pooling, R"({"pooling_mode": "median"})", "pooling_mode...weightedmean...'median'"},
      {pooling, R"({"pooling_mode": []})", "pooling_mode...none"},
      {pooling, R"({"pooling_mode_cls_token": "yes"})", "pooling_mode_cls_token...'yes'"},
      {bert, R"({"max_seq_length": 0})", "max_seq_length"},
      {bert, "[]", bert + "...an object"},
      {bert, R"({"model_args": {"rope_scaling": 2}})",
       "model_args.rope_scaling: must be absent, got 2"},
      {bert, R"({"model_kwargs": {"x": 2}})", "model_kwargs.x: must be absent"},
      {bert, R"({"tokenizer_args": {"model_max_length": 5}})", "tokenizer_args.model_max_length"},
      {bert, R"({"processor_kwargs": {"padding_side": "left"}})", "processor_kwargs.padding_side"},
      {bert, R"({"config_args": {"hidden_act": "relu"}})", "config_args.hidden_act"},
      {bert, R"({"config_kwargs": {"hidden_act": "relu"}})", "config_kwargs.hidden_act"},
      {bert, R"({"tokenizer_name_or_path": "other"})", "tokenizer_name_or_path: must be absent"},
      {bert, R"({"transformer_task": "fill-mask"})", "transformer_task...'feature-extraction'"},
      {bert, R"({"module_output_name": "sentence_embedding"})", "module_output_name"},
      {bert, R"({"modality_config": {"text": {"method": "get_text_features"}}})",
       "modality_config.text.method...'forward'"},
      {bert, R"({"modality_config": {"image": {}}})",
       "modality_config: must have a value for 'text'"},
      {bert, R"({"processing_kwargs": {"text": {"max_length": 4}}})",
       "processing_kwargs.text.max_length"},
      {bert, R"({"query_length": 3})", "query_length: must be absent"},
      {bert, R"({"document_length": 3})", "document_length: must be absent"},
      {bert, R"({"query_expansion": {"strategy": "fixed", "length": 32}})", "query_expansion"},
      {settings, R"({"similarity_fn_name": "jaccard"})",
       "similarity_fn_name...manhattan...'jaccard'"},
      {settings, R"({"model_type": "SparseEncoder"})", "model_type...'SentenceTransformer'"},
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

TEST_F(SentenceEncoderTest, ReadsTheNumberOfColumns) {
  ScratchFolder scratch("sentence");
  const auto with = [&](const std::string& columns) {
    scratch.put("config_sentence_transformers.json", "{\"truncate_dim\": " + columns + "}");
    return load_sentence_encoder(scratch.path());
  };
  const auto plain = with("null");
  const std::vector<std::string> texts = {"the cat"};
  EXPECT_TRUE(same_bits(with("3").encode(texts), plain.encode(texts, {.truncate_dim = 3})));
  EXPECT_TRUE(same_bits(with("3").encode(texts, {.truncate_dim = 5}),
                        plain.encode(texts, {.truncate_dim = 5})));
  EXPECT_EQ(with("3").encode(std::vector<std::string>{}).shape(), (Shape{0, 3}));
  EXPECT_TRUE(same_bits(with("4096").encode(texts), plain.encode(texts)));
  expect_refused([&] { with("0"); }, "truncate_dim...from 1 to");
}

// Keys of newer versions with the values that they have in plain folders, and keys that change
// nothing.
TEST_F(SentenceEncoderTest, IgnoresKeysThatChangeNothing) {
  const Tensor want = load_sentence_encoder(folders() / "sentence").encode({"the cat sat"});
  ScratchFolder scratch("sentence");
  scratch.put("sentence_bert_config.json", R"({"max_seq_length": 16, "do_lower_case": false,
      "transformer_task": "feature-extraction", "module_output_name": "token_embeddings",
      "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"},
                          "message": {"method": "x", "format": "flat"}},
      "processing_kwargs": {"text": {}, "chat_template": {"add_generation_prompt": true}},
      "unpad_inputs": true, "query_length": null, "query_expansion": null,
      "model_args": {"trust_remote_code": true, "torch_dtype": "float32", "rope": null},
      "tokenizer_args": {"use_fast": true}, "config_args": {}})");
  scratch.put("config_sentence_transformers.json", R"({"__version__": {"pytorch": NaN},
      "model_type": "SentenceTransformer", "prompts": {"query": "", "document": ""},
      "default_prompt_name": null, "similarity_fn_name": "cosine"})");
  const std::string modules = scratch.folder.read("modules.json");
  scratch.put("modules.json", replaced(modules, "\"idx\"", "\"kwargs\": [\"task\"], \"idx\""));
  const std::string pooling = scratch.folder.read("1_Pooling/config.json");
  scratch.put("1_Pooling/config.json", replaced(pooling, ": 12", ": 13"));
  const SentenceEncoder model = load_sentence_encoder(scratch.path());
  EXPECT_TRUE(same_bits(model.encode({"the cat sat"}), want));
  ASSERT_EQ(model.reader.warnings.size(), 1U);
  EXPECT_TRUE(
      contains(model.reader.warnings[0], "word_embedding_dimension: must be 12, the width"));
}

/// A folder of static embeddings with a table of the given tensors; row 0 is [PAD].
class StaticFolder : public ScratchFolder {
 public:
  explicit StaticFolder(const std::map<std::string, Tensor>& tensors) : ScratchFolder("static") {
    put("modules.json",
        R"([{"type": "sentence_transformers.models.StaticEmbedding", "path": ""}])");
    std::filesystem::remove(path() / "model.safetensors");
    save_safetensors(path() / "model.safetensors", tensors);
  }
  /// Sets the truncation of tokenizer.json.
  void truncate(const std::string& truncation) {
    std::string text = folder.read("tokenizer.json");
    const Json all = parse_json(text, "tokenizer.json");
    JsonObject changed;
    for (const Json& value : all.items()) {
      const bool is_it = value.key() == "truncation";
      changed.add(value.key(), is_it ? JsonText::written(truncation) : JsonText(value));
    }
    put("tokenizer.json", changed.text());
  }
  Tensor encode(const std::string& text, const TaskOptions& options = {}) const {
    return load_sentence_encoder(path()).encode({text}, options);
  }
};

/// A table (V, 1) whose row i is 2^-i for the first tokens, so that each set of tokens has its own
/// sum.
Tensor powers(index_t rows) {
  Tensor table = zeros({rows, 1});
  for (index_t i = 0; i < std::min<index_t>(rows, 60); ++i) {
    table.select(0, i).fill(std::ldexp(1.0, static_cast<int>(-i)));
  }
  return table;
}

constexpr index_t kRows = 92;  // the size of the golden folders' vocabulary

// sentence-transformers gives a StaticEmbedding the Rust tokenizer of tokenizer.json, with its
// truncation, without special tokens; no other file of a tokenizer or transformer is read.
TEST_F(SentenceEncoderTest, StaticEmbeddingsReadOnlyTokenizerJson) {
  StaticFolder scratch({{"embedding.weight", powers(kRows)}});
  scratch.truncate("null");
  const Tensor all = scratch.encode("the cat sat"), first = scratch.encode("the cat"),
               last = scratch.encode("cat sat");
  EXPECT_FALSE(same_bits(all, first));
  const auto with = [&](const std::string& direction) {
    return R"({"direction": ")" + direction +
           R"(", "max_length": 2, "strategy": "LongestFirst", "stride": 0})";
  };
  scratch.truncate(with("Right"));
  EXPECT_TRUE(same_bits(scratch.encode("the cat sat"), first));
  scratch.truncate(with("Left"));
  EXPECT_TRUE(same_bits(scratch.encode("the cat sat"), last));
  index_t cut = 0;
  scratch.encode("the cat sat", {.report_cut = [&](index_t texts, index_t) { cut += texts; }});
  EXPECT_EQ(cut, 1);
  scratch.truncate(R"({"max_length": 3, "strategy": "OnlySecond"})");
  expect_refused([&] { scratch.encode("the"); },
                 "tokenizer.json: truncation.strategy...OnlySecond");
  scratch.truncate(with("Up"));
  expect_refused([&] { scratch.encode("the"); }, "tokenizer.json: truncation.direction...'Up'");
  scratch.truncate("null");
  scratch.put("sentence_bert_config.json", R"({"max_seq_length": 1, "model_args": {"x": 1}})");
  scratch.put("tokenizer_config.json", R"({"model_max_length": 1, "do_lower_case": false})");
  EXPECT_TRUE(same_bits(scratch.encode("The cat sat"), all));
}

TEST_F(SentenceEncoderTest, StaticEmbeddingsReadTextsAsTheyAre) {
  StaticFolder scratch({{"embedding.weight", powers(kRows)}});
  scratch.truncate("null");
  const std::string normalizer =
      R"("normalizer":{"type":"Replace","pattern":{"String":" "},"content":"a"},"x":)";
  std::string text = scratch.folder.read("tokenizer.json");
  const std::size_t at = text.find("\"normalizer\":");
  ASSERT_NE(at, std::string::npos);
  scratch.put("tokenizer.json", text.replace(at, 13, normalizer));
  EXPECT_FALSE(same_bits(scratch.encode("cat "), scratch.encode("cat")));
  EXPECT_TRUE(same_bits(scratch.encode("t ", {.prompt = " ca"}), scratch.encode(" cat ")));
}

// token_mapping and weights of model2vec: row mapping[i] times weights[i] for token i.
TEST_F(SentenceEncoderTest, StaticEmbeddingsUseMappingsAndWeights) {
  const Tensor table = powers(kRows);
  const Tensor weights = arange(kRows).to(kFloat32) + 1;
  const Tensor mapping = kRows - 1 - arange(kRows);
  const std::string text = "the cat sat on";
  const auto encoded = [&](const std::map<std::string, Tensor>& tensors) {
    StaticFolder scratch(tensors);
    scratch.truncate("null");
    return scratch.encode(text);
  };
  EXPECT_TRUE(same_bits(encoded({{"embeddings", table}, {"weights", weights}}),
                        encoded({{"embedding.weight", table * weights.unsqueeze(1)}})));
  EXPECT_TRUE(same_bits(encoded({{"embeddings", table}, {"mapping", mapping}}),
                        encoded({{"embedding.weight", index_select(table, 0, mapping)}})));
  EXPECT_TRUE(same_bits(
      encoded({{"embeddings", table}, {"mapping", mapping}, {"weights", weights}}),
      encoded({{"embedding.weight", index_select(table, 0, mapping) * weights.unsqueeze(1)}})));
  EXPECT_TRUE(
      same_bits(encoded({{"embeddings", ones({1, 2})}, {"mapping", mapping * 0}}), ones({1, 2})));
  const auto refuses = [&](const std::map<std::string, Tensor>& tensors, const char* words) {
    expect_refused([&] { encoded(tensors); }, std::string("model.safetensors: tensor ") + words);
  };
  refuses({{"embeddings", table}, {"weights", weights.slice(0, 1)}}, "'weights': must have shape");
  refuses({{"embeddings", table}, {"weights", table}}, "'weights': must have shape (92,)");
  refuses({{"embeddings", table}, {"mapping", mapping + 1}},
          "'mapping': must have integers from 0 to 91");
  refuses({{"embeddings", table}, {"mapping", mapping - 1}},
          "'mapping': must have integers from 0 to 91");
  refuses({{"embeddings", table}, {"mapping", weights}}, "'mapping': must have integers");
  refuses({{"embeddings", table}, {"mapping", table}}, "'mapping': must have 1 axis, got shape (");
  // sentence-transformers ignores them here, and model2vec does not.
  refuses({{"embedding.weight", table}, {"weights", weights}}, "'weights': must be absent");
  refuses({{"embedding.weight", table}, {"mapping", mapping}}, "'mapping': must be absent");
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
  refuses(R"("out_features": 7, "activation_function": "own.ReLU")", "torch's...own.ReLU");
  refuses(R"("out_features": 7, "use_residual": true)", "use_residual: must be false");
  refuses(R"("out_features": 7, "module_input_name": "token_embeddings")", "module_input_name");
  std::filesystem::rename(scratch.path() / "2_Dense/model.safetensors",
                          scratch.path() / "2_Dense/pytorch_model.bin");
  refuses(R"("out_features": 7)", "pytorch_model.bin");
}

}  // namespace
}  // namespace tessera::models
