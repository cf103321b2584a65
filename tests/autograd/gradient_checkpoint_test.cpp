// Recomputation instead of storage: the bits are the same, the memory is not.
#include "tessera/tensor/autograd/gradient_checkpoint.h"

#include "tessera/models/encoder.h"
#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

struct Named {
  std::string name;
  Tensor tensor;
};

void expect_same(const std::vector<Named>& got, const std::vector<Named>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].tensor.defined(), want[i].tensor.defined()) << want[i].name;
    if (want[i].tensor.defined()) {
      EXPECT_TRUE(same_bits(got[i].tensor, want[i].tensor)) << want[i].name;
    }
  }
}

models::Encoder make_encoder(bool checkpointed, bool norm_first, double dropout = 0.3) {
  Rng rng(5);
  models::Encoder encoder({.layers = models::repeat_layer({.d_model = 12,
                                                           .nhead = 3,
                                                           .dim_feedforward = 20,
                                                           .dropout = dropout,
                                                           .activation = nn::Activation::kGelu,
                                                           .norm_first = norm_first,
                                                           .gradient_checkpoint = checkpointed},
                                                          3),
                           .final_norm = norm_first},
                          rng);
  nn::set_requires_grad(encoder);
  return encoder;
}

/// The results of an encoder: its output, the gradients of its input, of an additive mask and of
/// all parameters, and the generator's state after each pass. x and the mask are computed on the
/// tape and used there again, so that gradients add up in them.
std::vector<Named> run_encoder(bool checkpointed, bool norm_first, double dropout,
                               const AttentionMask& mask = {}) {
  const models::Encoder encoder = make_encoder(checkpointed, norm_first, dropout);
  const Tensor start = random_tensor({2, 9, 12}, kFloat32, 1).set_requires_grad();
  const Tensor scores = random_tensor({9, 9}, kFloat32, 2).set_requires_grad();
  manual_seed(17);
  Tape tape;
  const Tensor x = start * 2;
  const Tensor bias = tanh(scores);
  const Tensor y = encoder(x, mask & additive_mask(bias));
  const auto after_forward = static_cast<double>(default_rng().state().position);
  tape.backward(sum(y * random_tensor({2, 9, 12}, kFloat32, 3)) + sum(square(x)) + sum(exp(bias)));
  const auto after_backward = static_cast<double>(default_rng().state().position);
  std::vector<Named> found = {{"output", y.detach()},
                              {"dx", start.grad()},
                              {"d bias", scores.grad()},
                              {"generator", from_vector<double>({after_forward, after_backward})}};
  nn::for_each_parameter(encoder, [&](const std::string& name, const Tensor& parameter) {
    found.push_back({name, parameter.grad()});
  });
  return found;
}

using GradientCheckpointTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, GradientCheckpointTest, test::each_isa(), test::isa_name);

/// A mask with all parts except the additive one, which run_encoder adds.
AttentionMask full_mask() {
  Tensor keep = ones({2, 1, 9, 9}, kBool);
  keep.select(3, 2).fill(0);
  return causal_mask() & window_mask(4) & length_mask({9, 6}) & keep_mask(keep);
}

TEST_P(GradientCheckpointTest, AnEncodersBitsStay) {
  for (const bool norm_first : {false, true}) {
    for (const double dropout : {0.0, 0.3}) {
      for (const AttentionMask& mask : {AttentionMask(), causal_mask(), length_mask({9, 4}),
                                        keep_keys_mask(ones({2, 9}, kBool)), full_mask()}) {
        SCOPED_TRACE(str_cat("norm first ", norm_first, ", dropout ", dropout, ", causal ",
                             mask.causal(), ", lengths ", mask.lengths().defined()));
        expect_same(run_encoder(true, norm_first, dropout, mask),
                    run_encoder(false, norm_first, dropout, mask));
      }
    }
  }
}

/// The weights after ten steps, and each step's loss.
std::vector<Named> train(bool checkpointed) {
  const models::Encoder encoder = make_encoder(checkpointed, true);
  nn::AdamW optimizer(nn::split_weight_decay(encoder), {.lr = 0.01});
  manual_seed(3);
  std::vector<Named> found;
  for (std::uint64_t step = 0; step < 10; ++step) {
    const Tensor x = random_tensor({4, 7, 12}, kFloat32, 20 + step);
    Tape tape;
    const Tensor loss = mean(square(encoder(x, length_mask({7, 5, 1, 3})) - x));
    tape.backward(loss);
    nn::clip_grad_norm(optimizer.parameters(), 0.5);
    optimizer.step();
    optimizer.zero_grad();
    found.push_back({str_cat("loss ", step), loss.detach()});
  }
  for (const auto& [name, tensor] : nn::state_dict(encoder)) {
    found.push_back({name, tensor.detach()});
  }
  return found;
}

// x needs no gradient here: the first layer is recorded only because of its parameters.
TEST_P(GradientCheckpointTest, TenStepsOfTrainingHaveTheSameBits) {
  const auto plain = train(false);
  expect_same(train(true), plain);
  EXPECT_LT(plain[9].tensor.item(), plain[0].tensor.item());
}

struct Memory {
  index_t kept;  // by the tape, between forward and backward
  index_t peak;  // while computing, in addition to the memory before
};

Memory memory_of(bool checkpointed) {
  constexpr index_t kLayers = 6;
  models::Encoder encoder(
      {.layers = models::repeat_layer(
           {.d_model = 32, .nhead = 4, .dim_feedforward = 128, .gradient_checkpoint = checkpointed},
           kLayers)});
  nn::set_requires_grad(encoder);
  const Tensor x = random_tensor({4, 64, 32}, kFloat32, 1);
  const auto pass = [&] {
    Tape tape;
    const index_t before = memory_stats().in_use;
    const Tensor loss = sum(encoder(x));
    const index_t kept = memory_stats().in_use - before;
    tape.backward(loss);
    return kept;
  };
  pass();  // makes the gradients
  const index_t before = memory_stats().in_use;
  const index_t kept = pass();
  EXPECT_EQ(memory_stats().in_use, before) << "something stays";
  return {kept, memory_stats().peak - before};
}

TEST(GradientCheckpoint, HoldsTheInputsOfLayersAlone) {
  const Memory checkpointed = memory_of(true);  // first, because the peak never falls
  const Memory plain = memory_of(false);
  const index_t input = 4 * 64 * 32 * 4;
  EXPECT_LT(checkpointed.kept, 6 * 2 * input);
  EXPECT_GT(plain.kept, 8 * checkpointed.kept);
  EXPECT_GT(plain.peak, 3 * checkpointed.peak);
}

TEST(GradientCheckpoint, LeavesOneEntryALayer) {
  const models::Encoder encoder = make_encoder(true, false);
  const Tensor x = random_tensor({2, 5, 12}, kFloat32, 1);
  Tape tape;
  const Tensor y = encoder(x);
  EXPECT_EQ(tape.size(), 3);
  EXPECT_TRUE(y.requires_grad());
}

TEST(GradientCheckpoint, NothingIsRecordedWhereNoTapeRecords) {
  const models::Encoder encoder = make_encoder(true, false);
  const models::Encoder plain = make_encoder(false, false);
  const Tensor x = random_tensor({2, 5, 12}, kFloat32, 1).set_requires_grad();
  const auto output = [&](const models::Encoder& of) {
    manual_seed(2);
    return of(x);
  };
  EXPECT_TRUE(same_bits(output(encoder), output(plain)));
  EXPECT_FALSE(output(encoder).requires_grad());
  Tape tape;
  const NoGrad pause;
  EXPECT_TRUE(same_bits(output(encoder), output(plain)));
  EXPECT_FALSE(output(encoder).requires_grad());
  EXPECT_EQ(tape.size(), 0);
}

TEST(GradientCheckpoint, NothingIsRecordedWhereNothingWantsAGradient) {
  models::Encoder encoder = make_encoder(true, false);
  nn::set_requires_grad(encoder, false);
  Tape tape;
  EXPECT_FALSE(encoder(random_tensor({2, 5, 12}, kFloat32, 1)).requires_grad());
  EXPECT_EQ(tape.size(), 0);
}

Tensor float_leaf(const Nested& values) {
  return tensor(values, kFloat64).set_requires_grad();
}

using FunctionOfMany = std::function<Tensor(std::span<const Tensor>)>;

/// The gradient of x if f is in the middle of a computation, with a variable of the computation as
/// each of its three inputs. The output and the inputs of f are used before and after f.
Tensor gradient_of_repeated(const FunctionOfMany& f, bool checkpointed) {
  manual_seed(4);
  const Tensor x = float_leaf({0.1, -1.3, 3.7});
  const Tensor w = float_leaf({1.1, 0.7, -2.3});
  Tape tape;
  const Tensor z = x / 3;
  const std::vector<Tensor> inputs = {z, z, w, z};
  const Tensor before = z * 0.1;
  const Tensor y = checkpointed ? gradient_checkpoint(f, inputs) : f(inputs);
  const Tensor after = y * 0.7 + z * 1.9 + w * 0.3 + y * 1.3 + w * 1.7 + z * 0.7;
  tape.backward(sum(before + after * tensor({1.1, 2.3, 3.7}, kFloat64)));
  return concat({x.grad(), w.grad()});
}

TEST(GradientCheckpoint, OfAnyFunctionAndOfTheSameInputTwice) {
  using In = std::span<const Tensor>;
  const std::vector<FunctionOfMany> functions = {
      [](In in) { return in[0] * in[1] + in[3]; },
      [](In in) { return in[0] * 0.3 + in[1] * 1.7 + in[3] * 0.9 + in[2]; },
      [](In in) { return exp(in[1]) * in[2] - in[0] / in[3] + in[2] * 0.1; },
      [](In in) { return in[3]; },  // an argument unchanged
      [](In in) { return in[2]; },
      [](In in) { return in[1].unsqueeze(0).squeeze(0); },
      [](In in) { return in[0].detach() * in[1]; },
      [](In in) { return sum(in[0]); },
      [](In in) { return exp(in[0]) * in[0] + tanh(in[1]); },
      [](In in) { return where(bernoulli(0.5, in[0].shape()), in[0], in[1] * 3); },
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(same_bits(gradient_of_repeated(functions[i], true),
                          gradient_of_repeated(functions[i], false)));
    const auto nested = [f = functions[i]](In in) {
      return gradient_checkpoint(f, std::vector<Tensor>(in.begin(), in.end()));
    };
    EXPECT_TRUE(
        same_bits(gradient_of_repeated(nested, true), gradient_of_repeated(functions[i], false)));
  }
}

TEST(GradientCheckpoint, AnArgumentThatIsReturnedStaysTheVariableThatItIs) {
  const Tensor x = float_leaf({1.0, 2.0});
  Tape tape;
  const Tensor z = x * 2;
  const Tensor y = gradient_checkpoint([](const Tensor& a) { return a; }, z);
  EXPECT_EQ(y.grad_slot(), z.grad_slot());
  EXPECT_EQ(gradient_checkpoint([](const Tensor& a) { return a; }, x).grad_slot(), x.grad_slot());
}

TEST(GradientCheckpoint, OfALeafThatOnlyTheFunctionKnows) {
  const Tensor w = float_leaf({1.0, 2.0});
  const Tensor x = tensor({3.0, 4.0}, kFloat64);
  Tape tape;
  tape.backward(sum(gradient_checkpoint([&](const Tensor& a) { return w * a; }, x)));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{3, 4}));
  tape.backward(sum(gradient_checkpoint([&](const Tensor&) { return w; }, x)));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{4, 5}));
}

TEST(GradientCheckpoint, AVariableOfTheTapeMustBeAnInput) {
  const Tensor w = float_leaf({1.0, 2.0});
  Tape tape;
  const Tensor a = w * 2;
  const Tensor x = w * 3;
  fails("mul", "another tape",
        [&] { gradient_checkpoint([&](const Tensor& b) { return a * b; }, x); });
  fails("gradient_checkpoint", {"f must return", "outside"},
        [&] { gradient_checkpoint([&](const Tensor&) { return a; }, x); });
  const auto product = [](std::span<const Tensor> in) { return in[0] * in[1]; };
  tape.backward(sum(gradient_checkpoint(product, {a, x})));
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{12, 24}));
}

TEST(GradientCheckpoint, AWriteBeforeTheBackwardIsAnError) {
  for (int what = 0; what < 3; ++what) {
    SCOPED_TRACE(what);
    const models::Encoder encoder = make_encoder(true, false);
    const Tensor x = random_tensor({2, 5, 12}, kFloat32, 1);
    const Tensor lengths = from_vector<index_t>({5, 5});
    Tape tape;
    const Tensor loss = sum(encoder(x, length_mask(lengths)));
    Tensor written = what == 0 ? x : what == 1 ? lengths : encoder.layers[1].norm2.bias.detach();
    written.fill(1);
    fails("backward", "gradient_checkpoint", [&] { tape.backward(loss); });
    EXPECT_EQ(tape.size(), 0);
  }
}

TEST(GradientCheckpoint, TheLayerMayChangeOrGoBeforeTheBackward) {
  const auto gradient = [](bool checkpointed, bool changed) {
    const Tensor x = random_tensor({2, 5, 12}, kFloat32, 1).set_requires_grad();
    models::Encoder encoder = make_encoder(checkpointed, false);
    manual_seed(8);
    Tape tape;
    const Tensor loss = sum(square(encoder(x)));
    if (changed) nn::eval(encoder);
    if (changed) encoder.layers.clear();
    tape.backward(loss);
    return x.grad();
  };
  EXPECT_TRUE(same_bits(gradient(true, true), gradient(false, false)));
}

TEST(GradientCheckpoint, AnErrorInTheBackwardLeavesTheGeneratorWhereItIs) {
  const Tensor x = float_leaf({1.0, 2.0});
  Tape tape;
  bool failing = false;
  const Tensor y = gradient_checkpoint(
      [&](const Tensor& a) {
        const Tensor result = a * rand(a.shape(), kFloat64);
        require(!failing, "f", "failed");
        return result;
      },
      x);
  failing = true;
  rand({5});
  const Rng::State before = default_rng().state();
  fails("f", "failed", [&] { tape.backward(sum(y)); });
  EXPECT_EQ(default_rng().state(), before);
  EXPECT_EQ(tape.size(), 0);
  EXPECT_TRUE((x * 2).requires_grad()) << "the tape no longer records";
}

}  // namespace
}  // namespace tessera
