// The encoders and heads of folders: PyTorch's results, and the same bits for each form of the
// files.
#include <set>

#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/hugging_face/hugging_face.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/digest.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using models::load_encoder;
using models::ModelFolder;
using models::TokenEncoder;

TEST(PretrainedEncoder, GivesPyTorchsVectors) {
  const auto names = folders_with("hidden");
  EXPECT_EQ(names.size(), 23U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_NO_THROW({
      const TokenEncoder encode = load_encoder(ModelFolder(folders() / name));
      Pretrained(name).expect_parity("hidden",
                                     [&](const models::Tokens& tokens) { return encode(tokens); });
    });
  }
}

// With fused multiply-adds: one digest for each number of threads, batch and instruction set.
TEST(PretrainedEncoder, HasOneDigestForEveryWay) {
  for (const std::string name :
       {"qwen3", "qwen3_new", "eurobert", "deberta", "deberta_convolution"}) {
    SCOPED_TRACE(name);
    const TokenEncoder encode = load_encoder(ModelFolder(folders() / name));
    const Pretrained pretrained(name);
    const models::Tokens batch = pretrained.batch(2);
    std::set<std::string> digests;
    const std::string before = current_isa();
    for (const std::string& isa : available_isas()) {
      if (isa == "baseline") continue;
      set_isa(isa);
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        Digest together, alone;
        const Tensor y = encode(batch);
        for (index_t i = 0; i < pretrained.texts(); ++i) {
          const Tensor own = encode(pretrained.text(i)).select(0, 0);
          together.add(y.select(0, i).slice(0, 0, own.size(0)));
          alone.add(own);
        }
        digests.insert(together.text());
        digests.insert(alone.text());
      }
    }
    set_thread_count(0);
    set_isa(before);
    EXPECT_LE(digests.size(), 1U);
  }
}

using Edit = std::function<void(EditedFolder& edited)>;

/// Replaces a part of each name that has it.
Edit in_names(const std::string& from, const std::string& to) {
  return [=](EditedFolder& edited) {
    edited.rename([&](const std::string& name) { return replaced(name, from, to); });
  };
}

Edit in_config(const std::string& from, const std::string& to) {
  return [=](EditedFolder& edited) { edited.replace("config.json", from, to); };
}

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

/// A folder with the same model in a different form.
struct Disguise {
  std::string what, folder;
  Edit change;
};

const std::vector<Disguise> kDisguises = {
    {"no prefix", "bert", in_names("bert.", "")},
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
       in_names("LayerNorm.weight", "LayerNorm.gamma")(edited);
       in_names("LayerNorm.bias", "LayerNorm.beta")(edited);
     }},
    {"weight and bias", "bert_old",
     [](EditedFolder& edited) {
       in_names("gamma", "weight")(edited);
       in_names("beta", "bias")(edited);
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
    {"another architecture", "bert", in_config("BertForTokenClassification", "BertForPreTraining")},
    {"a null for an absent key", "bert",
     in_config(R"("use_cache": true)", R"("use_cache": true, "position_embedding_type": null)")},
    {"CamemBERT, which is XLM-R", "xlm_roberta", in_config(R"("xlm-roberta")", R"("camembert")")},
    {"sines as the start of training", "distilbert",
     in_config(R"("sinusoidal_pos_embds": false)", R"("sinusoidal_pos_embds": true)")},
    {"layer types and rotary parameters", "modernbert",
     [](EditedFolder& edited) {
       in_config(R"("global_attn_every_n_layers": 3)",
                 R"("layer_types": ["full_attention", "sliding_attention",
                     "sliding_attention", "full_attention"])")(edited);
       in_config(R"("global_rope_theta": 160000.0)",
                 R"("rope_parameters": {
                     "full_attention": {"type": "default"},
                     "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})")(
           edited);
       in_config(",\n \"local_rope_theta\": 10000.0", ",\n \"sliding_window\": 64")(edited);
     }},
    {"the inner size as it is padded", "nomic_bert",
     in_config(R"("n_inner": 200)", R"("n_inner": 256)")},
    {"the inner size by default", "nomic_bert",
     in_config(R"("n_inner": 200)", R"("n_inner": null)")},
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
  check_heads("sequence", 13, {"qa_outputs"},
              [](const auto& folder) { return models::load_text_classifier(folder); });
}

// An old file may have a pooler that its head does not use.
TEST(PretrainedHeads, ClassifyTokens) {
  check_heads("tokens", 10, {"qa_outputs", "pre_classifier"},
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
  EXPECT_EQ(folders_with("answers").size(), 10U);
}

TEST(PretrainedHeads, GuessMaskedTokens) {
  const auto names = folders_with("masked");
  EXPECT_EQ(names.size(), 14U);
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
  options.token_encoder = folder.options;
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
        models::SequenceClassifierOptions{.token_encoder = {},
                                          .num_labels = 2,
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
          .token_encoder = {},
          .num_labels = 1,
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
