// Training as a whole: ten steps as in PyTorch, and the same bits for any number of threads.
#include "tessera/models/models.h"
#include "tests/support/digest.h"
#include "tests/support/golden.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// The network of golden/make_training.py.
struct Net {
  nn::Linear linear1{6, 20};
  nn::LayerNorm norm{20};
  nn::Linear linear2{20, 5};

  Tensor operator()(const Tensor& x) const { return linear2(norm(linear1(x, Activation::kGelu))); }

  static void visit(auto& self, auto&& visitor) {
    visitor("linear1", self.linear1);
    visitor("norm", self.norm);
    visitor("linear2", self.linear2);
  }
};

struct Trained {
  std::vector<double> losses;
  std::vector<double> norms;
  nn::StateDict weights;
};

const GoldenCase& golden() {
  static const GoldenCase file("training");
  return file;
}

Net make_net(DType dtype) {
  Net net;
  nn::convert(net, dtype);
  nn::load_state_dict(net, golden().state(dtype));
  nn::set_requires_grad(net);
  return net;
}

/// Steps of an optimiser; `largest`, if above 0, is the maximum norm of gradients.
template <class M>
Trained train(const M& model, nn::AdamW& optimizer, double largest, index_t steps,
              const std::function<Tensor(index_t step)>& loss_of) {
  Trained run;
  for (index_t step = 0; step < steps; ++step) {
    Tape tape;
    const Tensor loss = loss_of(step);
    tape.backward(loss);
    if (largest > 0) run.norms.push_back(nn::clip_grad_norm(optimizer.parameters(), largest));
    optimizer.step();
    optimizer.zero_grad();
    run.losses.push_back(loss.item());
  }
  run.weights = nn::state_dict(model);
  return run;
}

Tensor loss_of_net(const Net& net, DType dtype, index_t step, double smoothing) {
  return nn::cross_entropy(net(golden().array("x").select(0, step).to(dtype)),
                           golden().array("y").select(0, step), {.label_smoothing = smoothing});
}

/// Ten steps of plain AdamW.
Trained train_plain(DType dtype) {
  const Net net = make_net(dtype);
  nn::AdamW optimizer(net, {.lr = 0.02, .weight_decay = 0.1});
  return train(net, optimizer, 0, 10,
               [&](index_t step) { return loss_of_net(net, dtype, step, 0); });
}

/// With two groups, label smoothing, clipping and a schedule.
Trained train_full(DType dtype) {
  const Net net = make_net(dtype);
  nn::AdamW optimizer(nn::split_weight_decay(net), {.lr = 0.02, .weight_decay = 0.1});
  nn::LRScheduler scheduler(optimizer, nn::cosine_schedule(3, 10));
  return train(net, optimizer, 0.5, 10, [&](index_t step) {
    scheduler.step();
    return loss_of_net(net, dtype, step, 0.1);
  });
}

void expect_golden(const GoldenCase& golden, const std::string& kind, const Trained& run,
                   double tolerance) {
  const Tensor& losses = golden.array(kind + ".losses");
  ASSERT_EQ(losses.count(), std::ssize(run.losses));
  for (index_t step = 0; step < losses.count(); ++step) {
    EXPECT_NEAR(run.losses[static_cast<std::size_t>(step)], losses.item_at({step}), tolerance)
        << kind << ", step " << step;
  }
  const Tensor& norms = golden.array(kind + ".norms");
  ASSERT_EQ(norms.count(), std::ssize(run.norms));
  for (index_t step = 0; step < norms.count(); ++step) {
    EXPECT_NEAR(run.norms[static_cast<std::size_t>(step)], norms.item_at({step}), tolerance);
  }
  for (const auto& [name, tensor] : run.weights) {
    EXPECT_TRUE(
        near(tensor.detach(), array(golden.array(kind + ".end." + name)), 0, 10 * tolerance))
        << kind << ", " << name;
  }
}

class TrainingTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, TrainingTest, each_isa(), isa_name);

// Rounding errors grow over the steps if v is small: a gradient near 0 still changes its weight by
// lr.
TEST_P(TrainingTest, TenStepsAreThoseOfPyTorch) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const double tolerance = dtype == kFloat32 ? 1e-5 : 1e-11;
    expect_golden(golden(), "plain", train_plain(dtype), tolerance);
    expect_golden(golden(), "full", train_full(dtype), tolerance);
  }
}

const GoldenCase& encoder_golden() {
  static const GoldenCase file("training_encoder");
  return file;
}

/// The encoder of golden/make_training.py: two groups, clipping and warm-up, on padded batches.
Trained train_encoder(const std::string& norm, DType dtype) {
  const GoldenCase& golden = encoder_golden();
  models::SequenceClassifier model(
      {.token_encoder = {.vocab_size = 23,
                         .encoder = {.layers =
                                         models::repeat_layer({.d_model = 16,
                                                               .nhead = 4,
                                                               .dim_feedforward = 24,
                                                               .dropout = 0,
                                                               .activation = Activation::kGelu,
                                                               .norm_first = norm == "pre"},
                                                              2),
                                     .final_norm = norm == "pre"},
                         .positions = models::Positions::kLearned,
                         .max_positions = 9,
                         .dropout = 0},
       .num_labels = 5,
       .dropout = 0});
  nn::convert(model, dtype);
  nn::load_state_dict(model, golden.group(norm + ".start.", dtype));
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 0.01, .weight_decay = 0.1});
  nn::LRScheduler scheduler(optimizer, nn::linear_schedule(4, 10));
  Trained run = train(model, optimizer, 1, 10, [&](index_t step) {
    const auto part = [&](const char* name) { return golden.array(name).select(0, step); };
    scheduler.step();
    return nn::cross_entropy(model({part("tokens"), part("lengths")}), part("labels"),
                             {.label_smoothing = 0.1});
  });
  run.weights.clear();  // the file does not have them
  return run;
}

TEST_P(TrainingTest, TenStepsOfAnEncoderAreThoseOfPyTorch) {
  for (const std::string norm : {"post", "pre"}) {
    expect_golden(encoder_golden(), norm, train_encoder(norm, kFloat32), 1e-5);
    expect_golden(encoder_golden(), norm, train_encoder(norm, kFloat64), 1e-11);
  }
}

/// Four steps of an encoder with enough work for several threads, with padding and dropout.
Trained train_wide() {
  constexpr index_t kClasses = 301;
  manual_seed(11);
  models::TokenClassifier model({
      .token_encoder = {.vocab_size = 50,
                        .encoder = {.layers = models::repeat_layer(
                                        {.d_model = 48, .nhead = 4, .dim_feedforward = 200}, 2)}},
      .num_labels = kClasses,
  });
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 0.01});
  const Tensor lengths = from_vector<index_t>({70, 1, 33, 70});
  return train(model, optimizer, 0.5, 4, [&](index_t step) {
    const auto seed = static_cast<std::uint64_t>(step);
    const Tensor x = random_tensor({4, 70}, kInt64, 20 + seed, 0, 50);
    Tensor y = random_tensor({4, 70}, kInt64, 30 + seed, 0, kClasses);
    y.slice(1, 60).fill(-100);
    return nn::cross_entropy(model({x, lengths}), y,
                             {.label_smoothing = step % 2 == 0 ? 0.1 : 0.0});
  });
}

/// The results of four such steps, as one number.
std::string digest_of(const Trained& run) {
  std::vector<Tensor> parts = {from_vector(run.losses), from_vector(run.norms)};
  for (const auto& [name, tensor] : run.weights) parts.push_back(tensor.flatten().to(kFloat64));
  return digest(concat(parts));
}

TEST(Training, OneDigestOfTrainedWeightsForAnyThreadsAndEachFusedInstructionSet) {
  const std::string before = current_isa();
  std::string fused;  // the digest on every instruction set with a fused multiply-add
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    std::string unfused;
    std::string& want = isa == "baseline" ? unfused : fused;
    for (const int threads : {1, 2, 3, 4, 7, 8}) {
      set_thread_count(threads);
      const Trained got = train_wide();
      EXPECT_LT(got.losses.back(), got.losses.front());
      if (want.empty()) want = digest_of(got);
      EXPECT_EQ(digest_of(got), want) << isa << ", " << threads << " threads";
    }
  }
  set_thread_count(0);
  set_isa(before);
}

}  // namespace
}  // namespace tessera::test
