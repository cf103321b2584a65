#include "nn/observer.h"

#include <thread>

#include "models/encoder.h"
#include "nn/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/reduce.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;
using Names = std::vector<std::string>;

models::Encoder make(bool norm_first, double dropout = 0, bool gradient_checkpoint = false) {
  Rng rng(4);
  return models::Encoder({.layers = {{.d_model = 8,
                                      .nhead = 2,
                                      .dim_feedforward = 12,
                                      .dropout = dropout,
                                      .norm_first = norm_first,
                                      .gradient_checkpoint = gradient_checkpoint}},
                          .final_norm = norm_first},
                         rng);
}

const Tensor kInput = random_tensor({2, 5, 8}, kFloat32, 3);

Names names_of(const models::Encoder& encoder) {
  Names names;
  const Observer observer([&](const std::string& name, const Tensor&) { names.push_back(name); });
  encoder(kInput);
  return names;
}

TEST(Observer, SeesTheStepsByTheirModules) {
  EXPECT_EQ(names_of(make(false)),
            (Names{"input", "layers.0.self_attn.in_proj", "layers.0.self_attn.heads",
                   "layers.0.self_attn+residual", "layers.0.norm1", "layers.0.linear1+activation",
                   "layers.0.linear2+residual", "layers.0.norm2", "layers.0", "output"}));
  EXPECT_EQ(
      names_of(make(true)),
      (Names{"input", "layers.0.norm1", "layers.0.self_attn.in_proj", "layers.0.self_attn.heads",
             "layers.0.self_attn+residual", "layers.0.norm2", "layers.0.linear1+activation",
             "layers.0.linear2+residual", "layers.0", "norm", "output"}));
  // While training, dropout stands between a branch and its sum.
  EXPECT_EQ(names_of(make(false, 0.5)),
            (Names{"input", "layers.0.self_attn.in_proj", "layers.0.self_attn.heads",
                   "layers.0.self_attn", "layers.0.dropout1+residual", "layers.0.norm1",
                   "layers.0.linear1+activation", "layers.0.linear2", "layers.0.dropout2+residual",
                   "layers.0.norm2", "layers.0", "output"}));
}

TEST(Observer, ChangesNoBitAndSeesWhatIsComputed) {
  const models::Encoder encoder = make(false);
  const Tensor unseen = encoder(kInput);
  std::map<std::string, Tensor> seen;
  const Observer observer(
      [&](const std::string& name, const Tensor& y) { seen[name] = y.clone(); });
  EXPECT_TRUE(same_bits(encoder(kInput), unseen));
  EXPECT_TRUE(same_bits(encoder.with_weights({kInput}).output, seen.at("output")));
  EXPECT_TRUE(same_bits(seen.at("input"), kInput));
  EXPECT_TRUE(same_bits(encoder.layers[0](kInput), seen.at("layers.0")));
  EXPECT_TRUE(same_bits((*encoder.layers[0].norm1)(seen.at("layers.0.self_attn+residual")),
                        seen.at("layers.0.norm1")));
}

TEST(Observer, LooksOnWhileATapeRecords) {
  for (const bool checkpointed : {false, true}) {
    models::Encoder encoder = make(true, 0, checkpointed);
    set_requires_grad(encoder);
    const auto gradient = [&] {
      Tape tape;
      tape.backward(sum(encoder(kInput)));
      const Tensor found = encoder.layers[0].feed_forward.linear1.weight->grad().clone();
      zero_grad(encoder);
      return found;
    };
    const Tensor unseen = gradient();
    int steps = 0;
    const Observer observer([&](const std::string&, const Tensor& y) {
      EXPECT_FALSE(y.requires_grad());
      ++steps;
    });
    EXPECT_TRUE(same_bits(gradient(), unseen));
    EXPECT_GE(steps, 11);
  }
}

TEST(Observer, EndsWithItsScope) {
  const models::Encoder encoder = make(false);
  Names outer;
  const Observer observer([&](const std::string& name, const Tensor&) { outer.push_back(name); });
  EXPECT_EQ(names_of(encoder).size(), 10u);  // one inside takes over
  EXPECT_TRUE(outer.empty());
  {
    const Observer throws([](const std::string& name, const Tensor&) {
      if (name == "layers.0.self_attn.heads") throw std::runtime_error(name);
    });
    EXPECT_THROW(encoder(kInput), std::runtime_error);
    int steps = 0;
    const Observer counts([&](const std::string&, const Tensor&) { ++steps; });
    encoder(kInput);
    EXPECT_EQ(steps, 10);
  }
  std::thread([&] { encoder(kInput); }).join();  // of another thread
  EXPECT_TRUE(outer.empty());
  encoder(kInput);
  EXPECT_EQ(outer.size(), 10u);
  EXPECT_EQ(outer.front(), "input");
}

}  // namespace
}  // namespace tessera::nn
