// Replacements of steps and their gradients are compared with PyTorch in interventions_test.cpp.
#include "tessera/nn/hook.h"

#include <thread>

#include "tessera/models/classifier.h"
#include "tessera/models/masked_lm.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;
using Names = std::vector<std::string>;

models::EncoderOptions options(bool norm_first, double dropout = 0) {
  return {.layers = {{.d_model = 8,
                      .nhead = 2,
                      .dim_feedforward = 12,
                      .dropout = dropout,
                      .norm_first = norm_first}},
          .final_norm = norm_first};
}

models::Encoder make(const models::EncoderOptions& o) {
  Rng rng(4);
  return models::Encoder(o, rng);
}

const Tensor kInput = random_tensor({2, 5, 8}, kFloat32, 3);

Names names_of(const std::function<void()>& run) {
  Names names;
  for (const auto& [name, shape] : hook_points(run)) names.push_back(name);
  return names;
}

Names names_of(const models::Encoder& encoder) {
  return names_of([&] { encoder(kInput); });
}

TEST(Hook, StepsAreNamedByTheirModules) {
  const std::string attention =
      "layers.0.self_attn.q layers.0.self_attn.k layers.0.self_attn.v "
      "layers.0.self_attn.score_bias layers.0.self_attn.weights layers.0.self_attn.heads "
      "layers.0.self_attn layers.0.sum1 ";
  const std::string network =
      "layers.0.feed_forward.activation layers.0.feed_forward layers.0.sum2 ";
  const std::string post =
      "input " + attention + "layers.0.norm1 " + network + "layers.0.norm2 layers.0 output ";
  const std::string pre =
      "input layers.0.norm1 " + attention + "layers.0.norm2 " + network + "layers.0 norm output ";
  const auto listed = [](const models::EncoderOptions& o) {
    std::string list;
    for (const std::string& name : names_of(make(o))) list += name + ' ';
    return list;
  };
  EXPECT_EQ(listed(options(false)), post);
  EXPECT_EQ(listed(options(true)), pre);
  EXPECT_EQ(listed(options(false, 0.5)), post);  // the same with dropout
}

/// Small models of every kind of attention, norm and feed-forward network.
std::map<std::string, models::EncoderLayerOptions> kinds() {
  models::EncoderLayerOptions bert = {.d_model = 8,
                                      .nhead = 2,
                                      .dim_feedforward = 12,
                                      .dropout = 0,
                                      .activation = Activation::kGelu};
  std::map<std::string, models::EncoderLayerOptions> all = {{"bert", bert}};
  all["dropout"] = bert;
  all["dropout"].dropout = 0.25;
  all["pre-norm"] = bert;
  all["pre-norm"].norm_first = true;
  all["checkpointed"] = bert;
  all["checkpointed"].gradient_checkpoint = true;
  all["modern"] = bert;
  all["modern"].norm_first = true;
  all["modern"].bias = false;
  all["modern"].gated = true;
  all["modern"].window = 2;
  all["modern"].rotary = RotaryOptions{.base = 100};
  all["alibi"] = bert;
  all["alibi"].alibi = true;
  all["t5"] = bert;
  all["t5"].norm_first = true;
  all["t5"].norm = NormKind::kRMSNorm;
  all["t5"].relative_position = DistanceBuckets{};
  return all;
}

models::SequenceClassifier classifier_of(const models::EncoderLayerOptions& layer) {
  Rng rng(7);
  models::SequenceClassifier model(
      {.token_encoder = {.vocab_size = 20,
                         .encoder = {.layers = models::repeat_layer(layer, 2)},
                         .type_vocab_size = 2,
                         .dropout = layer.dropout,
                         .embedding_norm = true},
       .num_labels = 3,
       .dropout = layer.dropout,
       .head = models::PredictionHeadOptions{}},
      rng);
  set_requires_grad(model);
  return model;
}

models::Tokens tokens_of(bool padded) {
  const Tensor ids = tensor({{3, 4, 5, 6, 7}, {8, 9, 10, 11, 12}}).to(kInt64);
  return {.ids = ids, .lengths = padded ? tensor({5, 3}).to(kInt64) : Tensor()};
}

/// The scores and all gradients of one training step.
std::vector<Tensor> training_step(models::SequenceClassifier& model, const models::Tokens& tokens) {
  manual_seed(11);  // of the dropout
  Tape tape;
  const Tensor scores = model(tokens);
  tape.backward(sum(square(scores)));
  std::vector<Tensor> found = {scores.detach().clone()};
  for_each_parameter(model, [&](const std::string&, const Tensor& p) {
    found.push_back(p.grad().defined() ? p.grad().clone() : zeros({0}));
  });
  zero_grad(model);
  return found;
}

TEST(Hook, IdentitiesChangeNoBit) {
  for (const auto& each : kinds()) {
    const std::string& kind = each.first;
    models::SequenceClassifier model = classifier_of(each.second);
    for (const bool padded : {false, true}) {
      const models::Tokens tokens = tokens_of(padded);
      const std::vector<Tensor> untouched = training_step(model, tokens);
      const auto expect_untouched = [&](const std::string& what) {
        const std::vector<Tensor> found = training_step(model, tokens);
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_TRUE(same_bits(found[i], untouched[i]))
              << kind << ", " << what << ", padded " << padded << ", tensor " << i;
        }
      };
      const Names names = names_of([&] { model(tokens); });
      EXPECT_GE(names.size(), 33U) << kind;
      for (const std::string& name : names) {
        int calls = 0;
        const Hook hook(name, [&](const HookPoint& step) {
          ++calls;
          return step.value;
        });
        expect_untouched(name);
        EXPECT_EQ(calls, 1) << kind << ' ' << name;
      }
      const Hook all("**", [](const HookPoint&) {});
      expect_untouched("*");
    }
  }
}

TEST(Hook, FindsTokensOfTextsPackedOrPadded) {
  const models::SequenceClassifier model = classifier_of(kinds().at("bert"));
  // Text 1 of a batch: of equal lengths, unpadded, and by itself.
  const Tensor patch = ones({8});
  const auto run = [&](const models::Tokens& tokens, index_t text) {
    Tensor seen;
    const Hook edits("layers.0",
                     [&](const HookPoint& step) { return step.with_token(text, 2, patch); });
    const Hook reads("layers.0", [&](const HookPoint& step) { seen = step.text(text).clone(); });
    const Tensor scores = model(tokens).select(0, text);
    EXPECT_EQ(seen.size(0), tokens.lengths.defined() ? 3 : tokens.ids.size(1));
    EXPECT_TRUE(same_bits(seen.select(0, 2), patch));
    return scores;
  };
  models::SequenceClassifier evaluated = model;
  eval(evaluated);
  const Tensor cut = tokens_of(false).ids.slice(0, 1, 2).slice(1, 0, 3);
  const Tensor by_itself = run({.ids = cut}, 0);
  EXPECT_TRUE(same_bits(run(tokens_of(true), 1), by_itself));
  EXPECT_FALSE(same_bits(evaluated({.ids = cut}).select(0, 0), by_itself));
}

TEST(Hook, ReplacedWeightsAreThoseReturned) {
  const models::Encoder encoder = make(options(false));
  const Hook hook("layers.0.self_attn.weights",
                  [](const HookPoint& step) { return zeros_like(step.value); });
  const models::EncoderResult trace = encoder.with_attentions({kInput}, {.heads = {{1}}});
  EXPECT_EQ(trace.attentions.front().shape(), Shape({2, 1, 5, 5}));
  EXPECT_EQ(max(abs(trace.attentions.front())).item(), 0);
}

TEST(Hook, OlderHooksComeFirst) {
  const models::Encoder encoder = make(options(false));
  Names calls;
  std::optional<Hook> first;
  first.emplace("lay*.0", [&](const HookPoint& step) {
    calls.emplace_back("first");
    encoder(kInput);  // calls no hook
    return step.value * 0;
  });
  const Hook second("layers**", [&](const HookPoint& step) {
    if (step.name != "layers.0") return;
    calls.emplace_back("second");
    EXPECT_EQ(max(abs(step.value)).item(), calls.size() == 2 ? 0.0 : max(abs(step.value)).item());
  });
  const Tensor changed = encoder(kInput);
  EXPECT_EQ(max(abs(changed)).item(), 0);
  EXPECT_EQ(calls, (Names{"first", "second"}));
  first.reset();  // in any order
  EXPECT_GT(max(abs(encoder(kInput))).item(), 0);
  EXPECT_EQ(calls.size(), 3U);
  std::thread([&] { encoder(kInput); }).join();  // of another thread
  EXPECT_EQ(calls.size(), 3U);
}

TEST(Hook, MayMakeAndDestroyHooks) {
  const models::Encoder encoder = make(options(false));
  std::optional<Hook> made;
  int calls = 0;
  const Hook hook("layers.0.norm1", [&](const HookPoint&) {
    if (made) {
      made.reset();
    } else {
      made.emplace("layers.0.norm2", [&](const HookPoint&) { ++calls; });
    }
  });
  encoder(kInput);
  EXPECT_EQ(calls, 1);
  encoder(kInput);
  EXPECT_EQ(calls, 1);
}

TEST(Hook, HooksThatAHookMakesAreCalled) {
  const models::Encoder encoder = make(options(false));
  int inner = 0;
  int outer = 0;
  std::optional<Hook> hook(std::in_place, "layers.0", [&](const HookPoint&) {
    ++outer;
    EXPECT_FALSE(has_active_hook());
    const Hook made("layers.*", [&](const HookPoint&) { ++inner; });
    EXPECT_TRUE(has_active_hook());
    encoder(kInput);
  });
  encoder(kInput);
  EXPECT_EQ(outer, 1);
  EXPECT_EQ(inner, 1);
  EXPECT_TRUE(has_active_hook());
  hook.reset();
  EXPECT_FALSE(has_active_hook());
}

TEST(Hook, MayDestroyItself) {
  const models::Encoder encoder = make(options(false));
  std::optional<Hook> once;
  const std::vector<double> big(1000, 0.5);
  once.emplace("layers.0", [&once, big](const HookPoint& step) {
    once.reset();
    return step.value * big[7];
  });
  const Tensor halved = encoder(kInput);
  EXPECT_TRUE(same_bits(halved, encoder(kInput) * 0.5));
  EXPECT_FALSE(has_active_hook());
}

TEST(Hook, ACheckpointedBackwardCallsNoHook) {
  models::EncoderOptions o = options(false);
  o.layers[0].gradient_checkpoint = true;
  models::Encoder encoder = make(o);
  set_requires_grad(encoder);
  const auto gradient = [&](bool hooked) {
    Tape tape;
    const Tensor loss = sum(square(encoder(kInput)));
    std::optional<Hook> hook;
    if (hooked) hook.emplace("**", [](const HookPoint& step) { return step.value * 0.5; });
    tape.backward(loss);
    const Tensor found = encoder.layers[0].feed_forward->linear1.weight->grad().clone();
    zero_grad(encoder);
    return found;
  };
  EXPECT_TRUE(same_bits(gradient(true), gradient(false)));
}

TEST(Hook, Errors) {
  fails("Hook", "function must not be empty",
        [] { const Hook hook("*", std::function<void(const HookPoint&)>()); });
  fails("Hook", "function must not be empty", [] { const Hook hook("*", Hook::Function()); });
  models::EncoderOptions o = options(false);
  const models::Encoder encoder = make(o);
  o.layers[0].batch_first = false;
  const models::Encoder tokens_first = make(o);
  const auto expect_error = [](const models::Encoder& model, const char* pattern,
                               const auto& function, const char* op, const Words& words) {
    const Hook hook(pattern, function);
    fails(op, words, [&] { model(kInput); });
  };
  expect_error(
      tokens_first, "layers.0", [](const HookPoint& step) { step.text(0); }, "HookPoint",
      "batch_first must be true to choose texts");
  expect_error(
      encoder, "layers.0", [](const HookPoint& step) { return step.value.slice(1, 0, 2); }, "Hook",
      {"hook point layers.0 must be replaced by a tensor of shape (2, 5, 8)", "got (2, 2, 8)"});
  expect_error(
      encoder, "layers.0.norm1", [](const HookPoint& step) { Tensor(step.value).fill(0); }, "Hook",
      "hook point layers.0.norm1 must not be modified");
  expect_error(
      encoder, "layers.0", [](const HookPoint& step) { step.with_token(2, 0, ones({8})); },
      "HookPoint", "text must be from 0 to 1, got 2");
  expect_error(
      encoder, "layers.0", [](const HookPoint& step) { step.with_token(1, 5, ones({8})); },
      "HookPoint", "token must be from 0 to 4, got 5");
  std::optional<Hook> hook(std::in_place, "layers.0",
                           [](const HookPoint&) { throw std::runtime_error("stop"); });
  EXPECT_THROW(encoder(kInput), std::runtime_error);
  EXPECT_TRUE(has_active_hook());
  EXPECT_THROW(encoder(kInput), std::runtime_error);
  hook.reset();
  EXPECT_FALSE(has_active_hook());
}

TEST(Hook, PatternsStopAtDotsUnlessDoubled) {
  const models::Encoder encoder = make(options(false));
  const auto calls = [&](const std::string& pattern) {
    const Hook hook(pattern, [](const HookPoint&) {});
    encoder(kInput);
    return hook.calls();
  };
  EXPECT_EQ(calls("**"), 16);
  EXPECT_EQ(calls("*"), 2);  // input and output
  EXPECT_EQ(calls("layers.*"), 1);
  EXPECT_EQ(calls("layers.*.*"), 6);
  EXPECT_EQ(calls("layers.**"), 14);
  EXPECT_EQ(calls("layers.*.self_attn.*"), 6);
  EXPECT_EQ(calls("**.weights"), 1);
  EXPECT_EQ(calls("*.0.norm*"), 2);
  EXPECT_EQ(calls("layers.1"), 0);
  EXPECT_EQ(calls(""), 0);
}

TEST(Hook, StepsWithoutAHeadOrWithAnotherToken) {
  const HookPoint step = {.name = "x", .value = random_tensor({2, 3, 6}, kFloat32, 1)};
  const Tensor without = step.without_head(1, 3);
  for (index_t d = 0; d < 6; ++d) {
    const Tensor column = without.select(2, d);
    EXPECT_TRUE(same_bits(column, d / 2 == 1 ? zeros({2, 3}) : step.value.select(2, d)));
  }
  const Tensor vector = ones({6});
  const Tensor patched = step.with_token(1, 2, vector);
  EXPECT_TRUE(same_bits(patched.select(0, 1).select(0, 2), vector));
  EXPECT_TRUE(
      same_bits(patched.flatten(0, 1).slice(0, 0, 5), step.value.flatten(0, 1).slice(0, 0, 5)));
  fails("HookPoint", "vector must have shape (6), got (5,)",
        [&] { step.with_token(0, 0, ones({5})); });
  fails("HookPoint", "heads must divide", [&] { step.without_head(0, 4); });
  fails("HookPoint", "head must be from 0 to 2, got 3", [&] { step.without_head(3, 3); });
  const HookPoint weights = {.name = "w", .value = ones({1, 2, 3, 3})};
  fails("HookPoint", "w must have shape (B, T, D)", [&] { weights.text(0); });
}

TEST(Hook, OtherModelsHaveTheirHeads) {
  Rng rng(3);
  const models::TokenEncoderOptions tokens = {.vocab_size = 20, .encoder = options(false)};
  const models::TokenClassifier tagger({.token_encoder = tokens, .num_labels = 2}, rng);
  const models::MaskedLM lm({.token_encoder = tokens}, rng);
  const auto last = [](const std::function<void()>& run) { return hook_points(run).back(); };
  const auto tags = last([&] { tagger(tokens_of(true)); });
  EXPECT_EQ(tags.first, "logits");
  EXPECT_EQ(tags.second, Shape({1, 8, 2}));
  EXPECT_EQ(last([&] { lm(tokens_of(false)); }).second, Shape({2, 5, 20}));
  const Names names = names_of([&] { lm(tokens_of(false)); });
  EXPECT_EQ(names[0], "embeddings.words");
  EXPECT_EQ(names[1], "embeddings");
  EXPECT_EQ(names[names.size() - 2], "head");
}

}  // namespace
}  // namespace tessera::nn
