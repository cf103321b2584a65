// The encoders of folders: PyTorch's results, and the same bits for each form of the files.
#include "models/hugging_face/folder.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using models::load_encoder;
using models::ModelFolder;
using models::TokenEncoder;

TEST(PretrainedEncoder, GivesPyTorchsVectors) {
  const auto names = folders_with("hidden");
  EXPECT_EQ(names.size(), 15U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW({
      const TokenEncoder encode = load_encoder(ModelFolder(folders() / name));
      Pretrained(name).expect_parity("hidden",
                                     [&](const models::Tokens& tokens) { return encode(tokens); });
    });
  }
}

/// A folder with the same model in a different form.
struct Disguise {
  std::string what;
  std::string folder;
  void (*change)(EditedFolder& edited);
};

void in_shards(EditedFolder& edited) {
  std::map<std::string, Tensor> parts[3];
  std::string index;
  for (std::size_t i = 0; const auto& [name, tensor] : edited.tensors) {
    parts[i % 3].emplace(name, tensor);
    index +=
        (i > 0 ? ", \"" : "\"") + name + "\": \"model-" + std::to_string(i % 3) + ".safetensors\"";
    ++i;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    edited.save_as("model-" + std::to_string(i) + ".safetensors", parts[i]);
  }
  edited.remove("model.safetensors");
  edited.write("model.safetensors.index.json", "{\"weight_map\": {" + index + "}}");
}

const std::vector<Disguise> kDisguises = {
    {"no prefix", "bert",
     [](EditedFolder& edited) {
       edited.rename([](const std::string& name) { return replaced(name, "bert.", ""); });
     }},
    {"every other name without the prefix", "roberta",
     [](EditedFolder& edited) {
       edited.rename([i = 0](const std::string& name) mutable {
         return ++i % 2 == 0 ? replaced(name, "roberta.", "") : name;
       });
     }},
    {"a prefix", "xlm_roberta",
     [](EditedFolder& edited) {
       edited.rename([](const std::string& name) {
         const bool inside = name.starts_with("embeddings.") || name.starts_with("encoder.");
         return inside ? "roberta." + name : name;
       });
     }},
    {"gamma and beta", "bert",
     [](EditedFolder& edited) {
       edited.rename([](const std::string& name) {
         return replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias",
                         "LayerNorm.beta");
       });
     }},
    {"weight and bias", "bert_old",
     [](EditedFolder& edited) {
       edited.rename([](const std::string& name) {
         return replaced(replaced(name, "gamma", "weight"), "beta", "bias");
       });
     }},
    {"the tied table twice", "bert",
     [](EditedFolder& edited) {
       edited.tensors.emplace("cls.predictions.decoder.weight",
                              edited.tensors.at("bert.embeddings.word_embeddings.weight"));
       edited.save();
     }},
    {"numbers that are no weights", "bert",
     [](EditedFolder& edited) {
       edited.tensors.emplace("bert.embeddings.position_ids", arange(40).unsqueeze(0));
       edited.tensors.emplace("bert.embeddings.token_type_ids", zeros({1, 40}, kInt64));
       edited.save();
     }},
    {"heads left out", "bert",
     [](EditedFolder& edited) {
       edited.leave_out({"cls.", "classifier", "qa_outputs", "pooler"});
     }},
    {"shards", "bert", in_shards},
    {"no shards", "distilbert", [](EditedFolder&) {}},
    {"another architecture", "bert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "BertForTokenClassification", "BertForPreTraining");
     }},
    {"a null for an absent key", "bert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"use_cache\": true",
                      "\"use_cache\": true, \"position_embedding_type\": null");
     }},
    {"CamemBERT, which is XLM-R", "xlm_roberta",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"xlm-roberta\"", "\"camembert\"");
     }},
    {"sines as the start of training", "distilbert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"sinusoidal_pos_embds\": false",
                      "\"sinusoidal_pos_embds\": true");
     }},
    {"layer types and rotary parameters", "modernbert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"global_attn_every_n_layers\": 3",
                      R"("layer_types": ["full_attention", "sliding_attention",
                          "sliding_attention", "full_attention"])");
       edited.replace("config.json", "\"global_rope_theta\": 160000.0",
                      R"("rope_parameters": {
                          "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})");
       edited.replace("config.json", ",\n \"local_rope_theta\": 10000.0", "");
     }},
    {"the inner size as it is padded", "nomic_bert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"n_inner\": 200", "\"n_inner\": 256");
     }},
    {"the inner size by default", "nomic_bert",
     [](EditedFolder& edited) {
       edited.replace("config.json", "\"n_inner\": 200", "\"n_inner\": null");
     }},
    {"the prefix of its masked model", "nomic_bert",
     [](EditedFolder& edited) {
       edited.rename([](const std::string& name) { return "bert." + name; });
     }},
};

TEST(PretrainedEncoder, KnowsAModelInEveryDisguise) {
  for (const Disguise& disguise : kDisguises) {
    SCOPED_TRACE(disguise.folder + ": " + disguise.what);
    const Pretrained pretrained(disguise.folder);
    EditedFolder edited(disguise.folder);
    disguise.change(edited);
    EXPECT_NO_THROW({
      const models::Tokens tokens = pretrained.batch(0);
      const Tensor want = load_encoder(ModelFolder(pretrained.folder()))(tokens);
      EXPECT_TRUE(same_bits(load_encoder(ModelFolder(edited.path()))(tokens), want));
    });
  }
}

}  // namespace
}  // namespace tessera::test
