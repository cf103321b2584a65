// Training of pretrained models: rates by layer, fixed parameters, and that every family learns.
#include "tessera/models/hugging_face/fine_tuning.h"

#include "tessera/models/hugging_face/hugging_face.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/pretrained.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

SequenceClassifier fresh(const std::string& family) {
  manual_seed(3);
  return make_text_classifier(folders() / family, {"no", "yes"}).model;
}

/// The rate of each parameter in its group, by its name.
std::map<std::string, nn::ParameterGroup> groups_by_name(
    const std::vector<nn::ParameterGroup>& groups) {
  std::map<std::string, nn::ParameterGroup> result;
  for (const nn::ParameterGroup& group : groups) {
    for (const nn::Parameter& each : group.parameters) {
      EXPECT_TRUE(
          result.emplace(each.name, nn::ParameterGroup{{}, group.lr, group.weight_decay}).second)
          << each.name;
    }
  }
  return result;
}

TEST(FineTuning, ALayerLearnsSlowerThanTheOneAbove) {
  SequenceClassifier model = fresh("bert");  // two layers
  const auto groups = fine_tuning_groups(
      model, {.lr = 0.5, .head_lr = 3, .layer_decay = 0.25, .weight_decay = 0.125});
  EXPECT_EQ(groups.front().lr, 3);  // reported by a trainer
  const auto by_name = groups_by_name(groups);
  const std::map<std::string, double> rates = {{"embeddings.word_embeddings.weight", 0.03125},
                                               {"embeddings.LayerNorm.bias", 0.03125},
                                               {"encoder.layers.0.linear1.weight", 0.125},
                                               {"encoder.layers.1.self_attn.in_proj_bias", 0.5},
                                               {"head.dense.weight", 3},
                                               {"classifier.bias", 3}};
  for (const auto& [name, rate] : rates) {
    ASSERT_TRUE(by_name.contains(name)) << name;
    EXPECT_EQ(by_name.at(name).lr, rate) << name;
  }
  nn::for_each_parameter(model, [&](const std::string& name, const Tensor& parameter) {
    ASSERT_TRUE(by_name.contains(name)) << name;
    EXPECT_EQ(by_name.at(name).weight_decay, parameter.rank() > 1 ? 0.125 : 0) << name;
  });
}

TEST(FineTuning, WhatSharesItsNumbersStandsBelowAllThatReadThem) {
  const detail::LevelRates rates({"encoder.layers.3.norm1.bias", "encoder.layers.11.norm1.bias"},
                                 {});
  EXPECT_EQ(rates.level_of("encoder.relative_attention_bias.weight"), 0);
  EXPECT_EQ(rates.level_of("embeddings.projection.weight"), 0);
  EXPECT_EQ(rates.level_of("encoder.layers.11.relative_attention_bias.weight"), 12);
  EXPECT_EQ(rates.level_of("encoder.norm.weight"), 12);
  EXPECT_EQ(rates.level_of("classifier.weight"), 13);
}

TEST(FineTuning, RefusesWhatIsNoRate) {
  SequenceClassifier model = fresh("bert");
  const auto refuses = [&](const FineTuningOptions& options, const std::string& words) {
    EXPECT_TRUE(throws("fine_tuning_groups", {words}, [&] { fine_tuning_groups(model, options); }));
  };
  refuses({.lr = -1}, "lr must be");
  refuses({.head_lr = -1}, "head_lr must be");
  refuses({.layer_decay = std::nan("")}, "layer_decay must be");
  refuses({.frozen_layers = 3}, "from 0 to 2, the layers of the model, got 3");
  refuses({.frozen_layers = -1}, "got -1");
  TokenEncoder encoder = load_encoder(ModelFolder(folders() / "bert"));
  for (const FineTuningOptions& options :
       {FineTuningOptions{.frozen_layers = 2}, FineTuningOptions{.lr = 0}}) {
    EXPECT_TRUE(throws("fine_tuning_groups",
                       {"at least 1 parameter must be trained, got none",
                        "reduce frozen_layers, or set lr above 0"},
                       [&] { fine_tuning_groups(encoder, options); }));
  }
  nn::prepack(encoder);
  EXPECT_TRUE(throws("fine_tuning_groups", {"must not be prepacked if it is trained", "unpack"},
                     [&] { fine_tuning_groups(encoder, {}); }));
}

/// The bits of each parameter.
std::map<std::string, std::vector<float>> bits_of(const SequenceClassifier& model) {
  std::map<std::string, std::vector<float>> bits;
  nn::for_each_parameter(model, [&](const std::string& name, const Tensor& parameter) {
    bits[name] = parameter.to_vector<float>();
  });
  return bits;
}

struct Trained {
  std::map<std::string, std::vector<float>> before, after;
  double first_loss = 0, last_loss = 0;
};

/// Trains a family's classifier to distinguish two texts.
Trained trained(const std::string& family, const FineTuningOptions& options, int threads) {
  set_thread_count(threads);
  SequenceClassifier model = fresh(family);
  Trained result;
  result.before = bits_of(model);
  nn::AdamW optimizer(fine_tuning_groups(model, options));
  const auto loss = [&](std::span<const index_t> chosen) {
    std::vector<index_t> ids, lengths, labels;
    for (const index_t i : chosen) {
      for (index_t t = 0; t < 6; ++t) ids.push_back(i % 2 == 0 ? 11 + t : 20 - t);
      lengths.push_back(4 + i % 3);
      labels.push_back(i % 2);
    }
    const index_t rows = std::ssize(chosen);
    const Tokens tokens = {.ids = from_vector(ids, {rows, 6}), .lengths = from_vector(lengths)};
    return nn::summed_cross_entropy(model(tokens), from_vector(labels));
  };
  const nn::Examples examples = {std::vector<index_t>(8, 6), loss};
  result.first_loss = nn::evaluate(model, examples).mean();
  nn::Trainer trainer(model, optimizer, examples,
                      {.epochs = 12, .batch_size = 4, .warmup_ratio = 0.1});
  trainer.train();
  result.last_loss = nn::evaluate(model, examples).mean();
  result.after = bits_of(model);
  set_thread_count(0);
  return result;
}

/// Whether frozen_layers = 1 fixes the parameter.
bool is_fixed(const std::string& name) {
  return name.starts_with("embeddings.") || name.starts_with("encoder.relative_attention_bias.") ||
         name.starts_with("encoder.distance") || name.starts_with("encoder.convolution.") ||
         name.starts_with("encoder.layers.0.");
}

TEST(FineTuning, EveryFamilyLearnsAndWhatIsFixedKeepsItsBits) {
  for (const std::string family :
       {"albert", "bert", "deberta", "deberta_convolution", "distilbert", "electra", "eurobert",
        "gte", "modernbert", "mpnet", "nomic_bert", "roberta", "xlm_roberta"}) {
    SCOPED_TRACE(family);
    const FineTuningOptions options = {.lr = 0.005, .head_lr = 0.02, .frozen_layers = 1};
    const Trained one = trained(family, options, 1);
    EXPECT_LT(one.last_loss, 0.7 * one.first_loss);
    if (family < "d") {
      EXPECT_EQ(one.after, trained(family, options, 2).after);
    }
    for (const auto& [name, bits] : one.after) {
      if (is_fixed(name)) {
        EXPECT_EQ(bits, one.before.at(name)) << name;
      } else if (name.ends_with(".weight")) {
        EXPECT_NE(bits, one.before.at(name)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::models
