#include "tessera/models/inspect/inspect.h"

#include "tessera/models/classifier.h"
#include "tessera/nn/hook.h"
#include "tessera/nn/loss.h"
#include "tessera/nn/module.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::inspect {
namespace {

using namespace test;

constexpr index_t kLayers = 2;
constexpr index_t kHeads = 2;
constexpr index_t kTokens = 6;
constexpr index_t kKey = 3;  // the token that decides

models::SequenceClassifier make(std::uint64_t seed) {
  Rng rng(seed);
  models::SequenceClassifier model(
      {.token_encoder = {.vocab_size = 12,
                         .encoder = {.layers =
                                         models::repeat_layer({.d_model = 16,
                                                               .nhead = kHeads,
                                                               .dim_feedforward = 24,
                                                               .dropout = 0,
                                                               .activation = nn::Activation::kGelu},
                                                              kLayers)},
                         .max_positions = 16,
                         .dropout = 0},
       .num_labels = 2,
       .pooling = models::Pooling::kCls,
       .dropout = 0},
      rng);
  nn::convert(model, kFloat64);
  nn::eval(model);
  return model;
}

Tensor random_ids(index_t count, std::uint64_t seed) {
  Rng rng(seed);
  return randint(4, 12, {count, kTokens}, rng);
}

/// Half of the texts have kKey at one place after the first; the others are of class 0.
struct Planted {
  Tensor ids;
  Tensor labels;
  std::vector<index_t> places;
};

Planted planted(index_t count, std::uint64_t seed) {
  Planted all = {random_ids(count, seed), zeros({count}, kInt64), {}};
  Rng rng(seed, 1);
  for (index_t i = 0; i < count; ++i) {
    const index_t place = 1 + static_cast<index_t>(rng.next_u64() % (kTokens - 1));
    all.places.push_back(place);
    if (i % 2 == 1) continue;
    all.ids.select(0, i).select(0, place).fill(kKey);
    all.labels.select(0, i).fill(1);
  }
  return all;
}

/// A model that has learned it, with only head 1 of layer 0 left to carry anything between tokens.
models::SequenceClassifier trained() {
  models::SequenceClassifier model = make(5);
  nn::train(model);
  nn::set_requires_grad(model);
  // All other heads are cut off: they read the first token only through the residual.
  const nn::Hook cut("layers.*.self_attn.heads", [](const nn::HookPoint& point) {
    Tensor keep = zeros_like(point.value);
    if (point.name == "layers.0.self_attn.heads") keep.slice(-1, 8, 16).fill(1);
    return point.value * keep;
  });
  nn::AdamW optimizer(nn::parameters(model), {.lr = 5e-3});
  const Planted data = planted(256, 1);
  for (int step = 0; step < 150; ++step) {
    Tape tape;
    tape.backward(nn::cross_entropy(model(data.ids), data.labels));
    optimizer.step();
    optimizer.zero_grad();
  }
  nn::set_requires_grad(model, false);
  nn::eval(model);
  // The model keeps nothing of the heads that were cut off.
  for (index_t layer = 0; layer < kLayers; ++layer) {
    Tensor weight = *model.token_encoder.encoder.layers[static_cast<std::size_t>(layer)]
                         .self_attn->out_proj.weight;
    for (index_t head = 0; head < kHeads; ++head) {
      if (layer == 0 && head == 1) continue;
      weight.slice(1, head * 8, head * 8 + 8).fill(0);
    }
  }
  return model;
}

Score score_of(const models::SequenceClassifier& model, const Tensor& ids) {
  return [&model, ids] {
    const Tensor logits = model(ids).select(0, 0);
    return logits.select(0, 1) - logits.select(0, 0);
  };
}

/// The share of texts of class 1 for which the largest of `rows_of(ids)` is at the key's place.
double share_found(const std::function<Tensor(const Tensor& ids)>& rows_of) {
  const Planted data = planted(40, 9);
  double found = 0;
  for (index_t i = 0; i < 40; i += 2) {
    const Tensor rows = rows_of(data.ids.slice(0, i, i + 1));
    found += argmax(rows).item<index_t>() == data.places[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return found / 20;
}

/// The text without the key, which makes it one of class 0.
Tensor without_key(const Tensor& ids) {
  return where(eq(ids, kKey), 7, ids);
}

TEST(Inspect, FindsAPlantedTokenAndHead) {
  const models::SequenceClassifier model = trained();
  const Planted test = planted(100, 2);
  ASSERT_GT(mean(eq(argmax(model(test.ids), {1}), test.labels).to(kFloat64)).item(), 0.97);

  EXPECT_GE(share_found([&](const Tensor& ids) {
              return integrated_gradients(score_of(model, ids)).rows.select(0, 0);
            }),
            0.95);
  EXPECT_GE(share_found([&](const Tensor& ids) {
              return input_x_gradient(score_of(model, ids)).select(0, 0);
            }),
            0.8);
  const auto map_of = [&](const Tensor& ids, const std::string& part) {
    return activation_patching(score_of(model, ids), score_of(model, without_key(ids)), part);
  };
  // The values of layer 0 carry it at the key's place, its attention brings it to the first token,
  // and layer 1 reads nothing from other tokens.
  EXPECT_GE(share_found(
                [&](const Tensor& ids) { return map_of(ids, ".self_attn.v").scores.select(0, 0); }),
            0.8);
  const Patching map = map_of(test.ids.slice(0, 0, 1), ".self_attn");
  EXPECT_EQ(map.scores.shape(), Shape({kLayers, kTokens}));
  EXPECT_GT(map.from, map.to + 4);
  EXPECT_GT(map.scores.item_at({0, 0}), (map.from + map.to) / 2);
  for (index_t t = 1; t < kTokens; ++t) EXPECT_NEAR(map.scores.item_at({0, t}), map.to, 1e-9);
  EXPECT_NEAR(map.scores.item_at({1, 0}), map.to, 1e-9);
  const Tensor ids = test.ids.slice(0, 0, 1);
  for (const Tensor& importance :
       {head_ablation(score_of(model, ids)), head_gradients(score_of(model, ids))}) {
    ASSERT_EQ(importance.shape(), Shape({kLayers, kHeads}));
    EXPECT_EQ(argmax(abs(importance)).item<index_t>(), 1) << "head 1 of layer 0";
    EXPECT_NEAR(importance.item_at({1, 0}), 0, 1e-9);
  }
  EXPECT_GT(head_ablation(score_of(model, ids)).item_at({0, 1}), 1);
}

TEST(Inspect, RandomWeightsNameNothing) {
  const models::SequenceClassifier model = make(6);
  EXPECT_LE(share_found([&](const Tensor& ids) {
              return integrated_gradients(score_of(model, ids)).rows.select(0, 0);
            }),
            0.5);
}

TEST(Inspect, SaliencyIsTheDifferenceQuotient) {
  const models::SequenceClassifier model = make(3);
  const Tensor ids = random_ids(1, 4);
  const Tensor found = input_x_gradient(score_of(model, ids)).select(0, 0);
  constexpr double kStep = 1e-6;
  for (index_t t = 0; t < kTokens; ++t) {
    const auto scaled = [&](double factor) {
      const nn::Hook hook("embeddings.words", [&](const nn::HookPoint& point) {
        return point.with_token(0, t, point.text(0).select(0, t) * factor);
      });
      return value_of(score_of(model, ids));
    };
    const double quotient = (scaled(1 + kStep) - scaled(1 - kStep)) / (2 * kStep);
    EXPECT_NEAR(found.item_at({t}), quotient, 1e-7);
  }
}

TEST(Inspect, IntegratedGradientsAddUp) {
  const models::SequenceClassifier model = trained();
  std::map<index_t, double> worst;  // error relative to the difference, by the number of points
  for (index_t i = 0; i < 200; ++i) {
    const Score score = score_of(model, planted(200, 12).ids.slice(0, i, i + 1));
    const Attribution why = integrated_gradients(score);
    EXPECT_NEAR(why.score, value_of(score), 1e-12);
    EXPECT_NEAR(sum(why.rows).item() - why.error, why.score - why.baseline, 1e-9);
    EXPECT_LT(std::abs(why.error), 0.01 * std::abs(why.score - why.baseline)) << i;
    if (i >= 5) continue;
    for (const index_t points : {64, 128, 256}) {
      worst[points] += std::abs(integrated_gradients(score, {.points = points}).error);
    }
  }
  // Twice as many points: a quarter of the error.
  EXPECT_NEAR(worst.at(64) / worst.at(128), 4, 1);
  EXPECT_NEAR(worst.at(128) / worst.at(256), 4, 1);
}

TEST(Inspect, PaddedTextsHaveTheAttributionsOfTheirOwn) {
  const models::SequenceClassifier model = make(3);
  const Tensor ids = random_ids(2, 8);
  const models::Tokens batch = {.ids = ids, .lengths = tensor({kTokens, 4}).to(kInt64)};
  const auto of_second = [&] { return model(batch).select(0, 1).select(0, 1); };
  const Tensor rows = integrated_gradients(of_second, {.points = 8}).rows;
  ASSERT_EQ(rows.shape(), Shape({2, kTokens}));
  const Tensor cut = ids.slice(0, 1, 2).slice(1, 0, 4);
  const auto alone = [&] { return model(cut).select(0, 0).select(0, 1); };
  const Tensor want = integrated_gradients(alone, {.points = 8}).rows;
  EXPECT_TRUE(allclose(rows.slice(0, 1).slice(1, 0, 4), want, 1e-10, 1e-12));
  EXPECT_EQ(max(abs(rows.slice(0, 0, 1))).item(), 0);
  EXPECT_EQ(max(abs(rows.slice(0, 1).slice(1, 4))).item(), 0);
}

TEST(Inspect, HeadGradientsAreDifferenceQuotients) {
  const models::SequenceClassifier model = make(3);
  const Score score = score_of(model, random_ids(1, 4));
  const Tensor found = head_gradients(score);
  constexpr double kStep = 1e-6;
  for (index_t layer = 0; layer < kLayers; ++layer) {
    for (index_t head = 0; head < kHeads; ++head) {
      const auto scaled = [&](double factor) {
        const nn::Hook hook(str_cat("layers.", layer, ".self_attn.heads"),
                            [&](const nn::HookPoint& point) {
                              Tensor factors = ones({16}, kFloat64);
                              factors.slice(0, head * 8, head * 8 + 8).fill(factor);
                              return point.value * factors;
                            });
        return value_of(score);
      };
      const double quotient = (scaled(1 + kStep) - scaled(1 - kStep)) / (2 * kStep);
      EXPECT_NEAR(found.item_at({layer, head}), quotient, 1e-7);
    }
  }
}

TEST(Inspect, HeadsAreMeasuredOverBatches) {
  const models::SequenceClassifier model = make(3);
  const std::vector<Tensor> batches = {random_ids(2, 4), random_ids(3, 5)};
  const auto score = [&] {
    Tensor total = zeros({1}, kFloat64);
    for (const Tensor& ids : batches) total = total + sum(model(ids).select(1, 1));
    return total;
  };
  Tensor ablation = zeros({kLayers, kHeads}, kFloat64);
  Tensor gradients = ablation;
  for (const Tensor& ids : batches) {
    const auto one = [&] { return sum(model(ids).select(1, 1)); };
    ablation = ablation + head_ablation(one);
    gradients = gradients + head_gradients(one);
  }
  EXPECT_TRUE(allclose(head_ablation(score), ablation, 1e-9, 1e-12));
  index_t passes = 0;
  const auto counted = [&] {
    ++passes;
    return score();
  };
  const Tensor one = head_ablation(counted, {.layers = {{1}}, .heads = {{0}}});
  EXPECT_TRUE(allclose(one, ablation.slice(0, 1, 2).slice(1, 0, 1), 1e-9, 1e-12));
  EXPECT_EQ(passes, 2) << "with all heads, and without the chosen one";
  EXPECT_TRUE(allclose(head_gradients(score), gradients, 1e-9, 1e-12));
}

TEST(Inspect, CountsSharedLayersAsTheyRun) {
  models::SequenceClassifier shared = make(3);
  models::SequenceClassifier unrolled = shared;
  auto& encoder = unrolled.token_encoder.encoder;
  shared.token_encoder.encoder.order = {0, 1, 1, 0};
  encoder.layers = {encoder.layers[0], encoder.layers[1], encoder.layers[1], encoder.layers[0]};
  const Tensor ids = random_ids(1, 4);
  const Tensor other = random_ids(1, 5);
  const Score score = score_of(shared, ids);
  const Score unrolled_score = score_of(unrolled, ids);
  const Tensor drops = head_ablation(score);
  EXPECT_EQ(drops.shape(), Shape({4, kHeads}));
  EXPECT_TRUE(array_equal(drops, head_ablation(unrolled_score)));
  EXPECT_TRUE(array_equal(head_ablation(score, {.layers = {{3}}}), drops.slice(0, 3)));
  EXPECT_TRUE(array_equal(head_gradients(score), head_gradients(unrolled_score)));
  EXPECT_TRUE(array_equal(activation_patching(score_of(shared, other), score).scores,
                          activation_patching(score_of(unrolled, other), unrolled_score).scores));
}

TEST(Inspect, ValueWeightedAttentionIsItsFormula) {
  for (const index_t group : {1, 2}) {  // heads per head of values
    const Tensor weights = softmax(random_tensor({2, 3 * group, 4, 4}, kFloat64, 1), -1);
    const Tensor values = random_tensor({2, 4, 6}, kFloat64, 2);
    const Tensor out_proj = random_tensor({5, 6 * group}, kFloat64, 3);
    const Tensor found = norm_weighted_attention(weights, values, out_proj);
    const Array want = build(weights.shape(), [&](const Dims& at) {
      double squares = 0;
      for (index_t d = 0; d < 5; ++d) {
        double moved = 0;
        for (index_t k = 0; k < 2; ++k) {
          moved += out_proj.item_at({d, at[1] * 2 + k}) *
                   values.item_at({at[0], at[3], at[1] / group * 2 + k});
        }
        squares += moved * moved;
      }
      return weights.item_at(at) * std::sqrt(squares);
    });
    EXPECT_TRUE(near(found, want, 0, 1e-12));
  }
}

TEST(Inspect, RolloutMultipliesTheLayers) {
  const Tensor first = softmax(random_tensor({1, 2, 3, 3}, kFloat64, 1), -1);
  const Tensor second = softmax(random_tensor({1, 2, 3, 3}, kFloat64, 2), -1);
  const auto passed = [](const Tensor& layer, index_t i, index_t j) {
    const double both = layer.item_at({0, 0, i, j}) + layer.item_at({0, 1, i, j});
    return both / 4 + (i == j ? 0.5 : 0);
  };
  const Tensor flow = attention_rollout({first, second});
  for (index_t i = 0; i < 3; ++i) {
    double row = 0;
    for (index_t j = 0; j < 3; ++j) {
      double want = 0;
      for (index_t k = 0; k < 3; ++k) want += passed(second, i, k) * passed(first, k, j);
      EXPECT_NEAR(flow.item_at({0, i, j}), want, 1e-12);
      row += flow.item_at({0, i, j});
    }
    EXPECT_NEAR(row, 1, 1e-12);
  }
}

TEST(Inspect, AProbeFindsWhatIsThere) {
  Rng rng(3);
  const Tensor labels = randint(0, 3, {600}, rng);
  Tensor x = randn({600, 10}, kFloat32, rng);
  const Probe nothing = linear_probe(x, labels);
  EXPECT_LT(nothing.accuracy, 0.45);
  const Probe found = linear_probe(x * 0.3 + one_hot(labels, 10).to(kFloat32), labels);
  EXPECT_GT(found.accuracy, 0.9);
  EXPECT_LT(found.shuffled, 0.45);
  EXPECT_NEAR(found.majority_accuracy, 1.0 / 3, 0.1);
  EXPECT_EQ(linear_probe(x, labels).accuracy, nothing.accuracy);
  // With more columns than rows, all labels of training are learnt by heart, and none held out.
  const Tensor wide = randn({600, 700}, kFloat32, rng);
  EXPECT_LT(linear_probe(wide, labels).accuracy, 0.45);
}

TEST(Inspect, CkaIgnoresRotationsAndScales) {
  const Tensor x = random_tensor({50, 2}, kFloat64, 1);
  const Tensor turn = tensor({{0.6, -0.8}, {0.8, 0.6}}).to(kFloat64);
  EXPECT_NEAR(linear_cka(x, matmul(x, turn) * 3 + 5), 1, 1e-12);
  EXPECT_LT(linear_cka(x, random_tensor({50, 2}, kFloat64, 2)), 0.2);
  // By hand: x = (1, -1, 0), y = (1, 0, -1): x.y = 1, |x|^2 = |y|^2 = 2.
  EXPECT_NEAR(linear_cka(tensor({{1.}, {-1.}, {0.}}), tensor({{1.}, {0.}, {-1.}})), 0.25, 1e-12);
}

TEST(Inspect, Errors) {
  const models::SequenceClassifier model = make(3);
  const Tensor ids = random_ids(1, 4);
  const Score score = score_of(model, ids);
  const auto twice = [&] { return score() + score(); };
  const auto apart = [&] {
    model(ids);
    return ones({1});
  };
  const auto refuses = [](const char* op, const std::string& text,
                          const std::function<void()>& call) {
    EXPECT_TRUE(throws(op, {text}, call));
  };
  refuses("input_x_gradient", "score must depend on", [&] { input_x_gradient(score, "layers.9"); });
  refuses("input_x_gradient", "score must depend on the hook point",
          [&] { input_x_gradient(apart); });
  refuses("input_x_gradient", "must compute one hook point embeddings.words, got several",
          [&] { input_x_gradient(twice); });
  refuses("input_x_gradient", "score must have 1 element, got shape (1, 2)",
          [&] { input_x_gradient([&] { return model(ids); }); });
  refuses("integrated_gradients", "points must be at least 2, got 1",
          [&] { integrated_gradients(score, {.points = 1}); });
  refuses("integrated_gradients", "baseline must broadcast to (1, 6, 16), got (7,)",
          [&] { integrated_gradients(score, {.baseline = ones({7})}); });
  refuses("head_ablation", "must run a model with attention",
          [] { head_ablation([] { return ones({1}); }); });
  refuses("head_ablation", "heads must be from 0 to 1, got 2", [&] {
    head_ablation(score, {.heads = {{0, 2}}});
  });
  refuses("activation_patching", "must be empty or begin with '.', got 'self_attn'",
          [&] { activation_patching(score, score, "self_attn"); });
  refuses("activation_patching", "both texts must have 6 tokens",
          [&] { activation_patching(score, score_of(model, ids.slice(1, 0, 4))); });
  refuses("activation_patching", "must have shape (1, T, D)",
          [&] { activation_patching(score_of(model, random_ids(2, 1)), score); });
  refuses("activation_patching", "from must compute layers.0 once",
          [&] { activation_patching(twice, score); });
  refuses("attention_rollout", "at least 1 layer", [] { attention_rollout({}); });
  refuses("norm_weighted_attention", "values must have shape (1, 3, G d)", [] {
    norm_weighted_attention(ones({1, 2, 3, 3}), ones({1, 4, 4}), ones({4, 4}));
  });
  refuses("linear_probe", "labels must be int64", [] { linear_probe(ones({8, 2}), ones({8})); });
  refuses("linear_probe", "steps must be at least 0, got -1", [] {
    linear_probe(ones({8, 2}), zeros({8}, kInt64), {.steps = -1});
  });
  refuses("linear_probe", "at least 2 rows", [] {
    linear_probe(ones({4, 2}), zeros({4}, kInt64));
  });
  refuses("linear_cka", "must be finite and not constant", [] {
    linear_cka(ones({3, 2}), ones({3, 2}));
  });
  refuses("linear_cka", "N of at least 2", [] { linear_cka(ones({1, 2}), ones({1, 2})); });
}

TEST(Inspect, CustomAttentionsHaveNoHeadsToRemove) {
  const models::EncoderLayerOptions plain = {.d_model = 16, .nhead = 2, .dim_feedforward = 24};
  models::EncoderLayerOptions custom = plain;
  custom.attention = [](const models::EncoderLayerOptions&, const nn::ParameterSource&) {
    return [](const models::EncoderInputs& inputs) { return inputs.x; };
  };
  for (const bool is_first : {true, false}) {
    const models::Encoder encoder(
        {.layers = {is_first ? custom : plain, is_first ? plain : custom}});
    const Tensor x = ones({1, 4, 16});
    const Score score = [&] { return sum(encoder(x)); };
    const char* const rule =
        "all layers must have heads, got 1 of 2 layers with a custom attention";
    fails("head_ablation", rule, [&] { head_ablation(score); });
    fails("head_gradients", rule, [&] { head_gradients(score); });
  }
}

}  // namespace
}  // namespace tessera::inspect
