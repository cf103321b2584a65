// Malformed folders: one line that names the file, the key or the tensor, the rule and the value.
#include <fstream>

#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using models::load_encoder;
using models::load_reader;
using models::load_sentence_encoder;
using models::ModelFolder;

/// A change of a folder's config.json, and words of the error, with "..." between them.
struct Change {
  std::string folder;
  std::string key, value;  // as JSON; "" removes the key
  std::string words;
};

/// Expects an error that names the folder and has these words.
void expect_error(const EditedFolder& edited, const std::string& words) {
  expect_refused([&] { load_encoder(ModelFolder(edited.path())); },
                 edited.path().string() + "..." + words);
}

void expect_error(const Change& change, const std::string& words) {
  SCOPED_TRACE(change.folder + ": " + change.key + " = " + change.value);
  const EditedFolder edited(change.folder);
  edited.set(change.key, change.value);
  expect_error(edited, words);
}

/// Configs with a changed key: the error names the file, the key and this text.
const std::vector<Change> kConfigFaults = {
    // Families.
    {"bert", "model_type", "", ""},
    {"bert", "model_type", "7", "got 7"},
    {"bert", "model_type", R"("deberta")", "deberta"},
    {"bert", "model_type", R"("neobert")", "neobert"},
    {"bert", "model_type", R"("gpt2")", "modernbert...gpt2"},
    // Values of a wrong kind, or out of range.
    {"bert", "hidden_size", R"("twelve")", "'twelve'"},
    {"bert", "hidden_size", "12.5", "got 12.5"},
    {"bert", "hidden_size", "null", ""},
    {"bert", "hidden_size", "0", "got 0"},
    {"bert", "hidden_size", "-12", "got -12"},
    {"bert", "hidden_size", "12000000000000", "got"},
    {"bert", "hidden_size", "120000000000000000000", ""},
    {"bert", "num_hidden_layers", "2000000000", "got 2000000000"},
    {"bert", "num_attention_heads", "5", "got 5"},
    {"bert", "hidden_act", R"("wave")", "'wave'"},
    {"bert", "layer_norm_eps", R"("1e-12")", "'1e-12'"},
    {"bert", "layer_norm_eps", "-1e-12", "got"},
    // Values that mean a different model.
    {"bert", "position_embedding_type", R"("relative_key")", "relative_key"},
    {"bert", "is_decoder", "true", ""},
    {"mpnet", "relative_attention_num_buckets", "16", "32...16"},
    {"nomic_bert", "prenorm", "true", ""},
    {"nomic_bert", "rotary_emb_interleaved", "true", ""},
    {"nomic_bert", "rotary_emb_fraction", "0.5", ""},
    {"modernbert", "rope_scaling", R"({"rope_type": "linear", "factor": 2.0})",
     "must be null, got an object"},
    {"modernbert", "sliding_window", "4", "must be 64, half of local_attention, got 4"},
    {"gte", "pack_qkv", "false", ""},
    {"gte", "logn_attention_scale", "true", ""},
    {"albert", "num_hidden_groups", "0", "got 0"},
    {"qwen3", "num_key_value_heads", "4", "must divide the width 6, got 4"},
    {"qwen3", "num_key_value_heads", "0", "got 0"},
    {"qwen3", "num_attention_heads", "0", "got 0"},
    {"qwen3", "head_dim", "-6", "got -6"},
    {"qwen3", "use_sliding_window", "true", "must be false, got true"},
    {"qwen3", "layer_types", R"(["full_attention", "sliding_attention"])", "sliding_attention"},
    {"qwen3", "rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})", "must be null"},
    {"qwen3", "rope_theta", "-1", "got -1"},
    {"qwen3", "max_position_embeddings", "1048576000", "got 1048576000"},
    {"eurobert", "num_attention_heads", "5", "must divide the width 12, got 5"},
    {"eurobert", "hidden_act", R"("swish2")", "swish2"},
    {"deberta", "pos_att_type", R"("c2p|p2p")", "must have only c2p and p2c, got 'p2p'"},
    {"deberta", "pos_att_type", "7", "got 7"},
    {"deberta", "position_buckets", "999", "must be from 2 to 45"},
    {"deberta", "position_buckets", "1", "must be from 2 to 45"},
    {"deberta", "pooler_hidden_act", R"("tanh")", "must be the text 'gelu'"},
    {"deberta", "pooler_dropout", "0.1", "must be 0, got 0.1"},
    {"deberta", "embedding_size", "6", "must be hidden_size, 12, got 6"},
    {"deberta_convolution", "conv_kernel_size", "4", "must be odd, got 4"},
    {"deberta_convolution", "conv_kernel_size", "-1", "got -1"},
    {"deberta_convolution", "conv_groups", "2", "got 2"},
    {"deberta_convolution", "conv_act", R"("wave")", "'wave'"},
    // Weights that are incomplete, or not used as they are.
    {"bert", "pruned_heads", R"({"0": [1]})", "must be empty, got an object"},
    {"bert", "quantization_config", R"({"bits": 8})", "must be absent...without quantisation"},
    {"bert", "layer_norm_eps", "NaN", "must be a finite number, got NaN"},
};

/// Configs that no longer match the weights.
const std::vector<Change> kWeightFaults = {
    // Layers that the config leaves out.
    {"bert", "num_hidden_layers", "1",
     "'bert.encoder.layer.1...config.json has 1 layers and no 'encoder.layers.1."},
    {"distilbert", "n_layers", "1", "'distilbert.transformer.layer.1."},
    {"albert", "num_hidden_groups", "1",
     "albert_layer_groups.1...has 2 layers and no 'encoder.layers.2."},
    // Sizes that the weights do not have.
    {"bert", "vocab_size", "999", "word_embeddings...999...92"},
    {"bert", "num_hidden_layers", "3", "encoder.layer.2."},
    {"bert", "intermediate_size", "21", "encoder.layer.0.intermediate.dense...21...20"},
    {"bert", "max_position_embeddings", "41", "position_embeddings...41...40"},
    {"bert", "type_vocab_size", "3", "token_type_embeddings...3...2"},
    {"distilbert", "hidden_dim", "21", "lin1...21...20"},
    {"albert", "embedding_size", "7", "embeddings...7...6"},
    {"modernbert", "intermediate_size", "11", "mlp.Wi...22...20"},
    {"nomic_bert", "n_inner", "300", "fc1...256"},
    {"qwen3", "num_key_value_heads", "3", "self_attn.k_proj.weight...18...12"},
    {"qwen3", "num_attention_heads", "4", "self_attn.o_proj.weight...24...36"},
    {"qwen3", "head_dim", "8", "self_attn...8...6"},
    {"qwen3", "num_hidden_layers", "1", "layers.1...config.json has 1 layers"},
    {"qwen3_new", "attention_bias", "false", "layers.0.self_attn.q_proj.bias...must be absent"},
    {"eurobert", "mlp_bias", "true", "mlp.gate_proj.bias...not found"},
    {"deberta", "position_buckets", "10", "rel_embeddings.weight...20...16"},
    {"deberta", "norm_rel_ebd", R"("none")", "encoder.LayerNorm.weight...must be absent"},
    {"deberta", "share_att_key", "false", "pos_key_proj.weight...not found"},
    {"deberta_convolution", "share_att_key", "true", "pos_key_proj.weight...must be absent"},
    {"deberta_convolution", "attention_head_size", "4", "output.dense.weight...12...18"},
    {"deberta_convolution", "conv_kernel_size", "0", "encoder.conv.conv.weight...must be absent"},
    {"deberta_convolution", "conv_kernel_size", "5", "encoder.conv.conv.weight...5...3"},
};

/// Changes of the config's text.
struct Fault {
  std::string folder;
  std::string from, to;
  std::string words;
};

const std::vector<Fault> kTextFaults = {
    // Texts that are not configs.
    {"bert", "{", "", ""},
    {"bert", "{", "[{", ""},
    {"bert", R"("vocab_size")", R"("hidden_size": 12, "vocab_size")", "hidden_size"},
    {"bert", R"("vocab_size")", R"("x": )" + std::string(500, '[') + R"(, "vocab_size")", ""},
    // Values that mean a different model.
    {"modernbert_new", R"("default")", R"("yarn")", "rope_type...yarn"},
    {"modernbert_new", R"("rope_type": "default")", R"("type": "linear")", "type...linear"},
    {"modernbert_new", R"("rope_parameters": {)",
     R"("rope_parameters": {"rope_type": "yarn"}, "old": {)", "rope_parameters...full_attention"},
    {"modernbert_new", R"("sliding_attention",)", R"("linear_attention",)",
     "layer_types...linear_attention"},
    {"modernbert_new", R"("sliding_attention",)", "", "layer_types"},
    {"qwen3_new", R"("rope_type": "default")", R"("rope_type": "yarn")", "rope_type...yarn"},
    {"qwen3_new", R"("rope_theta": 500.0)", R"("x": 500.0)", "a value for 'rope_theta'"},
    {"qwen3", R"("rope_theta": 1000000)", R"("x": 1000000)", "a value for 'rope_theta'"},
    {"qwen3", R"("head_dim": 6)", R"("head_dim": 5)", "width of a head must be even"},
    {"qwen3", R"("rope_scaling": null)", R"("rope_scaling": {"type": "yarn"})",
     "rope_scaling: must be null, got an object"},
    {"nomic_bert", R"("swiglu")", R"("gelu")", "activation_function...gelu"},
    {"nomic_bert", "activation_function", "x", "must have a value for 'activation_function'"},
    {"nomic_bert", "rotary_emb_fraction", "x", "must have a value for 'rotary_emb_fraction'"},
    {"nomic_bert", R"("prenorm": false)", R"("prenorm": false, "scale_attn_weights": false)",
     "scale_attn_weights"},
    {"gte", R"("ntk")", R"("linear")", "rope_scaling...linear"},
};

TEST(MalformedFolder, ConfigsGetOneLine) {
  for (const Change& change : kConfigFaults) {
    expect_error(change, "config.json..." + change.key + "..." + change.words);
  }
  for (const Change& change : kWeightFaults) expect_error(change, change.words);
  for (const Fault& fault : kTextFaults) {
    SCOPED_TRACE(fault.folder + ": " + fault.from + " -> " + fault.to.substr(0, 100));
    const EditedFolder edited(fault.folder);
    edited.replace("config.json", fault.from, fault.to);
    expect_error(edited, "config.json..." + fault.words);
  }
}

TEST(MalformedFolder, MissingFilesGetOneLine) {
  const EditedFolder no_config("bert"), no_weights("bert"), pickled("bert");
  no_config.remove("config.json");
  expect_error(no_config, "config.json");
  no_weights.remove("model.safetensors");
  expect_error(no_weights, "model.safetensors");
  pickled.remove("model.safetensors");
  pickled.write("pytorch_model.bin", "x");
  expect_error(pickled, "model.safetensors");
  const TemporaryFolder empty;
  expect_refused([&] { ModelFolder(empty.path() / "none"); }, "none");
}

TEST(MalformedFolder, WeightsGetOneLine) {
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
  EditedFolder missing("bert"), narrow("bert"), flat("bert"), whole("bert");
  missing.leave_out({query});
  expect_error(missing, query.substr(5));
  narrow.tensors.at(query) = zeros({12, 11});
  narrow.save();
  expect_error(narrow, query + "...must be (12, 12) by config.json, got (12, 11)");
  flat.tensors.at(query) = zeros({144});
  flat.save();
  expect_error(flat, query + "...must be (12, 12) by config.json, got (144,)");
  whole.write("model.safetensors", "");
  expect_error(whole, "model.safetensors");
}

TEST(MalformedFolder, AdaptersAreRefused) {
  const std::string cure = "...merge the adapter (LoRA) into its model and save that model";
  for (const std::string file : {"adapter_config.json", "adapter_model.safetensors"}) {
    const EditedFolder edited("bert");
    edited.write(file, "{}");
    expect_error(edited, file + cure);
    edited.remove("config.json");
    edited.remove("model.safetensors");
    expect_error(edited, file + cure);
  }
  EditedFolder edited("bert");
  const std::string name = "bert.encoder.layer.0.attention.self.query.lora_A.weight";
  edited.tensors[name] = zeros({2, 12});
  edited.save();
  expect_error(edited, "model.safetensors: tensor '" + name + cure);
}

// Files left by git without LFS, and by a download from a wrong address.
TEST(MalformedFolder, StandInsOfFilesAreNamedWithTheCure) {
  const std::vector<std::pair<std::string, std::string>> stand_ins = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 90868376\n",
       "got a Git LFS pointer; run git lfs pull"},
      {"<!DOCTYPE html>\n<html><head></head></html>\n", "got an HTML page; download the file"},
  };
  const std::vector<std::pair<std::string, std::string>> files = {
      {"bert", "config.json"},
      {"bert", "model.safetensors"},
      {"bert", "vocab.txt"},
      {"bert", "tokenizer_config.json"},
      {"distilbert", "model.safetensors.index.json"},
      {"sentence", "tokenizer.json"},
      {"sentence", "modules.json"},
      {"sentence", "1_Pooling/config.json"},
      {"sentence", "config_sentence_transformers.json"},
      {"sentence", "sentence_bert_config.json"},
  };
  for (const auto& [folder, file] : files) {
    for (const auto& [text, words] : stand_ins) {
      const EditedFolder edited(folder);
      if (file.ends_with("index.json")) edited.remove("model.safetensors");
      edited.write(file, text);
      expect_refused([&] { load_sentence_encoder(edited.path()); },
                     (edited.path() / file).string() + ": must be the file itself, ..." + words);
    }
  }
}

TEST(MalformedFolder, NamesOfFoldersAreEscapedButNotTheirLetters) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "caf\xc3\xa9\x1b[31m\n";
  std::filesystem::copy(folders() / "bert", path);
  const std::string shown = folder.path().string() + "/caf\xc3\xa9\\x1b[31m\\x0a/";
  const auto load = [&] { load_sentence_encoder(path); };
  std::ofstream(path / "vocab.txt", std::ios::app) << "[NEW]\n";
  expect_refused(load, shown + "vocab.txt: token '[NEW]': ..." + shown + "model.safetensors, got");
  std::filesystem::remove(path / "model.safetensors");
  expect_refused(load, shown.substr(0, shown.size() - 1) + ": must have model.safetensors");
  std::filesystem::remove(path / "config.json");
  expect_refused(load, shown + "config.json: ");
}

// A special token that was added without a row for it.
TEST(MalformedFolder, ATokenWithoutARowNamesBothFiles) {
  for (const std::string folder : {"bert", "sentence", "roberta"}) {
    const EditedFolder edited(folder);
    const auto rows =
        std::to_string(read_json(edited.path() / "config.json").integer("vocab_size"));
    const std::string file = folder == "bert" ? "vocab.txt" : "tokenizer.json";
    std::string text = edited.read(file);
    if (folder == "bert") {
      text += "[NEW]\n";
    } else {
      text.insert(text.find('[', text.find("\"added_tokens\"")) + 1,
                  "{\"id\": " + rows + R"(, "content": "[NEW]", "single_word": false,
                    "lstrip": false, "rstrip": false, "normalized": false, "special": true},)");
    }
    edited.write(file, text);
    const std::string path = edited.path().string() + "/";
    const std::string words = path + file + ": token '[NEW]': id must be less than " + rows +
                              ", the rows of ...word_embeddings.weight' in " + path +
                              "model.safetensors, got " + rows;
    expect_refused([&] { load_reader(ModelFolder(edited.path())); }, words);
    expect_refused([&] { load_sentence_encoder(edited.path()); }, words);
  }
}

// transformers gives the token a number, and fails only if a text has it.
TEST(MalformedFolder, ANamedSpecialTokenNeedsNoRow) {
  const EditedFolder edited("bert");
  edited.replace("tokenizer_config.json", "\"[MASK]\"", "\"[NEW]\"");
  const models::SentenceEncoder model = load_sentence_encoder(edited.path());
  EXPECT_EQ(model.reader.tokenizer->special().mask, 92);
  EXPECT_EQ(model.encode({"the cat"}).size(0), 1);
  EXPECT_TRUE(
      throws("embedding", {"ids", "92 rows", "got 92"}, [&] { model.encode({"the [NEW] cat"}); }));
}

// Tensors that a config excludes, explicitly or by default, although the file has them.
TEST(MalformedFolder, NoBiasOfALayerIsLeftOutUnseen) {
  for (const char* key : {"attention_bias", "mlp_bias", "norm_bias"}) {
    const EditedFolder edited("modernbert_new");
    edited.set(key, "false");
    expect_error(edited, "bias': must be absent...config.json");
  }
  EditedFolder nomic("nomic_bert");
  nomic.replace("config.json", "\"qkv_proj_bias\": false,", "");
  nomic.tensors.emplace("encoder.layers.1.attn.Wqkv.bias", zeros({24}));
  nomic.save();
  expect_error(nomic, "'encoder.layers.1.attn.Wqkv.bias'");
}

// Each tensor is required: no tensor has a default value if the file lacks it.
TEST(MalformedFolder, NoTensorOfAnEncoderMayBeMissing) {
  const EditedFolder whole("bert");
  for (const auto& [name, tensor] : whole.tensors) {
    if (!name.starts_with("bert.") || name.starts_with("bert.pooler")) continue;
    if (name.find("layer.0") != std::string::npos) continue;  // equal to layer.1
    EditedFolder edited("bert");
    edited.leave_out({name});
    expect_error(edited, name.substr(5));
  }
}

TEST(MalformedFolder, ShardsGetOneLine) {
  const std::string file = "model-00002-of-00002.safetensors";
  const std::string name = "\"distilbert.embeddings.word_embeddings.weight\": ";
  const std::vector<std::array<std::string, 3>> faults = {
      {file, "model-00003-of-00002.safetensors", "model-00003"},
      {file, "../" + file, "index.json...'../"},
      {file, "/etc/passwd", "index.json.../etc/passwd"},
      {name + "\"model-00001", name + "\"model-00002", "embeddings.word_embeddings.weight"},
      {"\"weight_map\"", "\"map\"", "index.json...weight_map"},
      {"\"weight_map\": {", "\"weight_map\": [{", "index.json"},
      {"\"" + file + "\"", "7", "index.json...got...7"},
  };
  for (const auto& [from, to, words] : faults) {
    SCOPED_TRACE(from + " -> " + to);
    const EditedFolder edited("distilbert");
    edited.remove("model.safetensors");
    for (const auto& part : std::filesystem::directory_iterator(folders() / "distilbert")) {
      if (part.path().filename().string().starts_with("model")) {
        std::filesystem::copy(part.path(), edited.path() / part.path().filename());
      }
    }
    edited.replace("model.safetensors.index.json", from, to);
    expect_error(edited, words);
  }
}

// A model with sizes that no weights have would take all memory: a request for a tensor is refused
// before memory of its size is allocated.
TEST(MalformedFolder, SizesWithoutWeightsAreRefused) {
  const Change kSizes[] = {
      {"bert", "vocab_size", "16000000", "shape must be (16000000, 12)"},
      {"bert", "max_position_embeddings", "1048576", "shape must be (1048576, 12)"},
      {"bert", "type_vocab_size", "60000", "shape must be (60000, 12)"},
      {"bert", "num_hidden_layers", "1024", "layer.2...not found"},
      {"electra", "embedding_size", "60000", "shape must be"},
      {"qwen3", "max_position_embeddings", "1048576",
       "config.json...rotary positions for 1048576 tokens"},
      {"deberta", "position_buckets", "1048576", "must be from 2"},
  };
  for (const Change& change : kSizes) {
    const index_t before = memory_stats().peak;
    expect_error(change, change.words);
    EXPECT_LT(memory_stats().peak, before + (4 << 20)) << change.key;
  }
}

// Any value under any key gives a folder or an error about the file, never a different exception.
TEST(MalformedFolder, EveryKeyOfAConfigIsChecked) {
  int refused = 0;
  for (const std::string& name : folders_with("hidden")) {
    const EditedFolder edited(name);
    const std::string good = edited.read("config.json");
    for (const Json& value : read_json(edited.path() / "config.json").items()) {
      const std::size_t line = good.find("\n \"" + std::string(value.key()) + "\": ");
      if (value.is_object() || value.is_list() || line == std::string::npos) continue;
      const std::size_t begin = good.find(": ", line) + 2;
      for (const std::string other : {"\"x\"", "-1", "[2]", "1e99"}) {
        SCOPED_TRACE(name + ": " + std::string(value.key()) + " = " + other);
        const std::size_t end = good.find_first_of(",\n", begin);
        edited.write("config.json", good.substr(0, begin) + other + good.substr(end));
        try {
          load_encoder(ModelFolder(edited.path()));
        } catch (const std::runtime_error& error) {
          expect_refused([&] { throw error; }, edited.path().string());
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace tessera::test
