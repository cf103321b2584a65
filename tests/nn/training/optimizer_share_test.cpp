// An optimiser that processes share has the bits of one that nobody shares: weights, norms, states.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "nn/training/clip_grad.h"
#include "nn/training/optim.h"
#include "tensor/create.h"
#include "tensor/gradient.h"
#include "tests/support/errors.h"
#include "tests/support/optimizers.h"
#include "tests/support/oracle.h"
#include "tests/support/thread_communicator.h"

namespace tessera::test {
namespace {

using nn::Chunk;
using nn::Communicator;
using nn::Optimizer;
using nn::Parameter;
using nn::ParameterGroup;
using nn::Parameters;

constexpr index_t kSteps = 3, kSaved = 2;  // a run is saved after kSaved steps
constexpr nn::ClipOptions kClip = {.scale = 0.5};
constexpr double kLargest = 3;

/// Random numbers, others for each seed below 1000.
Tensor numbers(const Shape& shape, DType dtype, index_t seed) {
  static const Tensor all = random_tensor({201'000}, kFloat64, 1);
  return all.slice(0, seed, seed + element_count("numbers", shape)).to(dtype).reshape(shape);
}

/// Sizes around those of chunks, in both dtypes and two groups; "idle" has a gradient at the last
/// step alone.
std::vector<ParameterGroup> groups() {
  index_t seed = 0;
  const auto parameter = [&](const std::string& name, const Shape& shape, DType dtype) {
    return Parameter{name, variable(numbers(shape, dtype, ++seed))};
  };
  return {
      {.parameters = {parameter("one", {1}, kFloat32), parameter("chunk", {256, 256}, kFloat32),
                      parameter("idle", {70000}, kFloat32), parameter("more", {65537}, kFloat32)}},
      {.parameters = {parameter("many", {400, 500}, kFloat32), parameter("none", {0}, kFloat32),
                      parameter("double", {65539}, kFloat64), parameter("scalar", {}, kFloat64)},
       .lr = 2e-3,
       .weight_decay = 0.25}};
}

/// The whole gradients of one step; undefined: none.
std::vector<Tensor> gradients_of(const Parameters& parameters, index_t step) {
  std::vector<Tensor> result;
  for (const auto& [name, tensor] : parameters) {
    const bool has = name != "idle" || step == kSteps - 1;
    const index_t seed = 100 * step + std::ssize(result) + 50;
    result.push_back(has ? numbers(tensor.shape(), tensor.dtype(), seed) : Tensor());
  }
  return result;
}

Tensor part(const Tensor& whole, const Chunk& chunk) {
  return whole.detach().reshape({whole.count()}).slice(0, chunk.begin, chunk.begin + chunk.count);
}

std::vector<Tensor> copies(const Parameters& parameters) {
  std::vector<Tensor> result;
  for (const Parameter& parameter : parameters) result.push_back(parameter.tensor.detach().clone());
  return result;
}

nn::Checkpoint copy(nn::Checkpoint state) {
  for (auto& [name, tensor] : state.tensors) tensor = tensor.clone();
  return state;
}

::testing::AssertionResult same(const nn::Checkpoint& got, const nn::Checkpoint& want) {
  if (got.values != want.values) return ::testing::AssertionFailure() << "other values";
  if (got.tensors.size() != want.tensors.size()) {
    return ::testing::AssertionFailure() << got.tensors.size() << " tensors";
  }
  for (const auto& [name, tensor] : want.tensors) {
    const auto result = same_bits(got.tensors.at(name), tensor);
    if (!result) return ::testing::AssertionFailure() << name << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

/// A run that nobody shares: what was before and after each step, and the norms.
struct Reference {
  std::vector<std::vector<Tensor>> weights, gradients;
  std::vector<double> norms;
  nn::Checkpoint saved, last;

  explicit Reference(const Make& make) {
    const auto optimizer = make(groups());
    weights.push_back(copies(optimizer->variables()));
    for (index_t step = 0; step < kSteps; ++step) {
      gradients.push_back(gradients_of(optimizer->variables(), step));
      for (std::size_t i = 0; i < weights[0].size(); ++i) {
        const Tensor& gradient = gradients.back()[i];
        optimizer->variables()[i].tensor.grad_slot()->gradient =
            gradient.defined() ? gradient.clone() : Tensor();
      }
      norms.push_back(nn::clip_grad_norm(*optimizer, kLargest, kClip));
      optimizer->step();
      weights.push_back(copies(optimizer->variables()));
      if (step + 1 == kSaved) saved = copy(optimizer->state());
    }
    last = copy(optimizer->state());
  }
};

/// Gives each parameter its gradient, of which only the own chunks are numbers.
void give_own_gradients(const Optimizer& optimizer, const std::vector<Tensor>& gradients,
                        index_t rank) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& x = optimizer.variables()[i].tensor;
    x.grad_slot()->gradient = gradients[i].defined() ? full(x.shape(), nan, x.dtype()) : Tensor();
  }
  for (const Chunk& chunk : optimizer.chunks()) {
    const auto i = static_cast<std::size_t>(chunk.parameter);
    if (chunk.owner != rank || !gradients[i].defined()) continue;
    part(optimizer.variables()[i].tensor.grad(), chunk).copy_from(part(gradients[i], chunk));
  }
}

std::vector<std::uint64_t> versions(const Parameters& parameters) {
  std::vector<std::uint64_t> result;
  for (const Parameter& parameter : parameters) {
    result.push_back(parameter.tensor.storage().version());
  }
  return result;
}

/// One step of a shared optimiser. Afterwards the weights are whole, as an exchange leaves them.
void step(Optimizer& optimizer, const Reference& want, index_t number, index_t rank) {
  const auto at = static_cast<std::size_t>(number);
  const Parameters& variables = optimizer.variables();
  give_own_gradients(optimizer, want.gradients[at], rank);
  EXPECT_EQ(nn::clip_grad_norm(optimizer, kLargest, kClip), want.norms[at]);
  const std::vector<std::uint64_t> before = versions(variables);
  optimizer.step();
  optimizer.zero_grad();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    EXPECT_EQ(versions(variables)[i] > before[i], want.gradients[at][i].defined());
  }
  for (const Chunk& chunk : optimizer.chunks()) {
    const auto i = static_cast<std::size_t>(chunk.parameter);
    const Tensor got = part(variables[i].tensor, chunk);
    const auto& expected = want.weights[at + (chunk.owner == rank ? 1 : 0)];
    EXPECT_TRUE(same_bits(got, part(expected[i], chunk))) << variables[i].name << chunk.begin;
    Tensor(got).copy_from(part(want.weights[at + 1][i], chunk));
  }
}

/// Steps [begin, end) as this many processes, from `state` if there is one; the state after them.
nn::Checkpoint run(const Make& make, const Reference& want, index_t size, index_t begin,
                   index_t end, const nn::Checkpoint* state, bool shares_late) {
  nn::Checkpoint result;
  const auto body = [&](Communicator& processes) {
    const auto optimizer = make(groups());
    for (std::size_t i = 0; i < optimizer->variables().size(); ++i) {
      Tensor weights = optimizer->variables()[i].tensor.detach();
      weights.copy_from(want.weights[static_cast<std::size_t>(begin)][i]);
    }
    if (!shares_late) optimizer->share(processes);
    if (state != nullptr) optimizer->load_state(*state);
    if (shares_late) optimizer->share(processes);
    for (index_t i = begin; i < end; ++i) step(*optimizer, want, i, processes.rank());
    const nn::Checkpoint whole = optimizer->state();
    if (processes.rank() == 0) {
      result = whole;
    } else {
      EXPECT_TRUE(same(whole, optimizer->settings()));  // which has no tensors
    }
  };
  run_processes(size, body, {.delivery = Delivery::kRandom, .threads = size == 2 ? 2 : 1});
  return result;
}

TEST(OptimizerShare, HasTheBitsOfOneProcessWhoeverSavesAndLoads) {
  struct Case {
    const char* algorithm;
    index_t begins, ends;  // processes of the first and of the resumed run
    bool shares_late;      // after it has loaded the state, which is what a whole one does
  };
  const std::vector<Case> cases = {
      {"sgd", 7, 2, false},         {"sgd_nesterov", 2, 3, true}, {"adam_decay", 3, 7, false},
      {"adamw_decay", 3, 2, false}, {"adamw_decay", 7, 3, true},
  };
  const std::map<std::string, Make> makers = algorithms();
  std::map<std::string, Reference> references;
  for (const auto& [algorithm, begins, ends, shares_late] : cases) {
    SCOPED_TRACE(str_cat(algorithm, ", ", begins, " processes, then ", ends));
    const Make& make = makers.at(algorithm);
    const Reference& want = references.try_emplace(algorithm, make).first->second;
    const nn::Checkpoint saved = run(make, want, begins, 0, kSaved, nullptr, false);
    EXPECT_TRUE(same(saved, want.saved));
    const nn::Checkpoint last = run(make, want, ends, kSaved, kSteps, &saved, shares_late);
    EXPECT_TRUE(same(last, want.last));
  }
}

TEST(OptimizerShare, EachProcessKeepsItsPartOfTheMemory) {
  const auto make = [] {
    return nn::AdamW(one_group(variable(zeros({20 * nn::kChunkElements + 5}))));
  };
  nn::AdamW whole = make();
  EXPECT_EQ(whole.kept_bytes(), 0);
  whole.load_state(whole.state());
  const index_t bytes = whole.kept_bytes();
  EXPECT_EQ(bytes, 2 * 4 * whole.variables()[0].tensor.count());
  for (const index_t size : {2, 3, 7}) {
    run_processes(size, [&](Communicator& processes) {
      nn::AdamW optimizer = make();
      EXPECT_EQ(optimizer.kept_bytes(), 0);
      optimizer.share(processes);
      const index_t kept = optimizer.kept_bytes();
      EXPECT_LE(kept, bytes / size + 2 * 4 * nn::kChunkElements);
      optimizer.variables()[0].tensor.grad_slot()->gradient = zeros({20 * nn::kChunkElements + 5});
      optimizer.step();
      EXPECT_EQ(optimizer.kept_bytes(), kept);
      index_t total = 0;
      for (const std::string& one : processes.all_gather(str_cat(kept))) total += std::stoll(one);
      EXPECT_EQ(total, bytes);
    });
  }
}

TEST(OptimizerShare, OneProcessAloneChangesNothing) {
  nn::OneProcess alone;
  const Tensor w = variable(ones({3}));
  nn::Adam optimizer(one_group(w));
  const nn::Checkpoint before = optimizer.state();
  optimizer.share(alone);
  EXPECT_EQ(optimizer.processes(), nullptr);
  EXPECT_TRUE(optimizer.chunks().empty());
  EXPECT_TRUE(same(optimizer.state(), before));
  EXPECT_EQ(before.tensors.at("w.exp_avg").to_vector<float>(), std::vector<float>(3));
}

TEST(OptimizerShare, TakesOverAnotherCommunicatorOfTheSameGroup) {
  nn::OneProcess alone;
  run_processes(2, [&](Communicator& processes) {
    const Tensor w = variable(ones({3}));
    nn::SGD optimizer(one_group(w), {.momentum = 0.5});
    optimizer.share(processes);
    const std::vector<Chunk> chunks = optimizer.chunks();
    EXPECT_EQ(chunks, (std::vector<Chunk>{{0, 0, 3, 0}}));
    optimizer.share(processes);
    EXPECT_EQ(optimizer.chunks(), chunks);
    const std::string rank = str_cat("rank ", processes.rank(), " of 2");
    EXPECT_TRUE(throws("share", {"must keep its processes", rank, "got rank 0 of 1"},
                       [&] { optimizer.share(alone); }));
    EXPECT_EQ(optimizer.processes(), &processes);
  });
}

TEST(OptimizerShare, RefusesProcessesThatDisagree) {
  run_processes(2, [](Communicator& processes) {
    const bool is_first = processes.rank() == 0;
    const Tensor w = variable(ones({3}));
    const auto fails = [&](const std::string& difference, Optimizer&& optimizer) {
      const auto result = throws("share", {difference}, [&] { optimizer.share(processes); });
      EXPECT_EQ(optimizer.processes(), nullptr);
      return result;
    };
    EXPECT_TRUE(
        fails("group.0.initial_lr must be the same on all ranks, got '0.5' on rank 0 and '0.25' on "
              "rank 1",
              nn::Adam(one_group(w), {.lr = is_first ? 0.5 : 0.25})));
    EXPECT_TRUE(
        fails("parameter w must be the same on all ranks, got 'float32 (3,)' on rank 0 and "
              "'float64 (2,)' on rank 1",
              nn::Adam(one_group(is_first ? w : variable(ones({2}, kFloat64))))));
    const std::string rules =
        "the optimiser must be the same on all ranks, got 'Adam' on rank 0 and 'SGD' on rank 1";
    if (is_first) {
      EXPECT_TRUE(fails(rules, nn::Adam(one_group(w))));
    } else {
      EXPECT_TRUE(fails(rules, nn::SGD(one_group(w))));
    }
    nn::SGD optimizer(Parameters{{"v", variable(ones({2}))}, {"w", w}});
    optimizer.share(processes);
    give_gradient(w, ones({3}));
    if (is_first) give_gradient(optimizer.variables()[0].tensor, ones({2}));
    EXPECT_TRUE(throws("clip_grad_norm",
                       {"a gradient of v or none", "one on rank 0 and none on rank 1"},
                       [&] { nn::clip_grad_norm(optimizer, 1); }));
    EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{1, 1, 1}));
  });
}

TEST(OptimizerShare, AStateThatDoesNotFitChangesNothing) {
  run_processes(3, [](Communicator& processes) {
    const Tensor w = variable(ones({2, 50000}));
    nn::AdamW optimizer(one_group(w));
    optimizer.share(processes);
    w.grad_slot()->gradient = ones({2, 50000});
    optimizer.step();
    const nn::Checkpoint before = optimizer.state();
    const auto fails = [&](const std::vector<std::string>& parts, const auto& change) {
      nn::Checkpoint state = optimizer.settings();
      for (const char* const name : {"w.exp_avg", "w.exp_avg_sq"}) {
        state.tensors[name] = full({2, 50000}, 9);
      }
      state.set("beta1", 0.5);
      change(state);
      const auto result = throws("load_state", parts, [&] { optimizer.load_state(state); });
      EXPECT_TRUE(same(optimizer.state(), before));
      return result;
    };
    EXPECT_TRUE(fails({"missing: w.exp_avg_sq"},
                      [](nn::Checkpoint& state) { state.tensors.erase("w.exp_avg_sq"); }));
    EXPECT_TRUE(fails({"w.exp_avg must have shape (2, 50000), got (100000,)"},
                      [](nn::Checkpoint& state) { state.tensors["w.exp_avg"] = zeros({100000}); }));
    EXPECT_TRUE(fails({"eps must be finite and at least 0, got -1"},
                      [](nn::Checkpoint& state) { state.values["eps"] = "-1"; }));
  });
}

}  // namespace
}  // namespace tessera::test
