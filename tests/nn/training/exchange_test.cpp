// An optimiser for one process's chunks has the bits of one for whole parameters: weights, norms,
// states.
#include "nn/training/detail/exchange.h"

#include "nn/training/clip_grad.h"
#include "nn/training/optim.h"
#include "tensor/gradient.h"
#include "tests/support/checkpoints.h"
#include "tests/support/optimizers.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::test {
namespace {

using nn::Chunk;
using nn::Communicator;
using nn::Exchange;
using nn::Optimizer;
using nn::Parameter;
using nn::ParameterGroup;
using nn::Parameters;

constexpr index_t kSteps = 3, kSaved = 2;  // a run is saved after kSaved steps
constexpr nn::ClipOptions kClip = {.scale = 0.5};
constexpr double kLargest = 3;

/// Random numbers, different for each seed below 1000.
Tensor numbers(const Shape& shape, DType dtype, index_t seed) {
  static const Tensor all = random_tensor({201'000}, kFloat64, 1);
  return all.slice(0, seed, seed + element_count("numbers", shape)).to(dtype).reshape(shape);
}

/// Sizes near those of chunks, in both dtypes and two groups; "idle" has a gradient only at the
/// last step.
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

/// The whole gradients of one step; undefined if there is none.
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

/// A run of one process: the state before and after each step, and the norms.
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
      norms.push_back(nn::clip_grad_norm(optimizer->variables(), kLargest, kClip));
      optimizer->step();
      weights.push_back(copies(optimizer->variables()));
      if (step + 1 == kSaved) saved = copy_of(optimizer->state());
    }
    last = copy_of(optimizer->state());
  }
};

std::vector<std::uint64_t> versions(const Parameters& parameters) {
  std::vector<std::uint64_t> result;
  for (const Parameter& parameter : parameters) {
    result.push_back(parameter.tensor.storage().version());
  }
  return result;
}

std::vector<Chunk> chunks_of(const Parameters& parameters, index_t processes) {
  std::vector<index_t> counts;
  for (const Parameter& parameter : parameters) counts.push_back(parameter.tensor.count());
  return nn::cut_into_chunks(counts, processes);
}

/// One step, in which one of the shards has the whole gradient.
void step(Exchange& exchange, Optimizer& optimizer, const Reference& want, index_t number,
          const Communicator& processes) {
  const auto at = static_cast<std::size_t>(number);
  const std::vector<Tensor>& gradients = want.gradients[at];
  nn::BatchSums sums = exchange.sum([&](index_t shard, nn::BatchTrees& trees) {
    const bool gives = shard == number % processes.size();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const bool has = gives && gradients[i].defined();
      trees.add_gradient(i, shard, has ? gradients[i].clone() : Tensor());
    }
    trees.totals.add(shard, {});
  });
  const Parameters& own = optimizer.variables();
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i].tensor.grad_slot()->gradient = sums.gradients.at(i);
  }
  const auto total = [&](const Tensor& squares) { return exchange.total(squares); };
  EXPECT_EQ(nn::detail::clip_grad_norm(own, kLargest, kClip, total), want.norms[at]);
  const Parameters& variables = exchange.variables();
  const std::vector<std::uint64_t> before = versions(variables);
  optimizer.step();
  optimizer.zero_grad();
  for (const Chunk& chunk : chunks_of(variables, processes.size())) {
    const auto i = static_cast<std::size_t>(chunk.parameter);
    const auto& expected = want.weights[at + (chunk.owner == processes.rank() ? 1 : 0)];
    EXPECT_TRUE(same_bits(part(variables[i].tensor, chunk), part(expected[i], chunk)))
        << variables[i].name << chunk.begin;
  }
  exchange.share_weights();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    EXPECT_TRUE(same_bits(variables[i].tensor.detach(), want.weights[at + 1][i]));
    EXPECT_EQ(versions(variables)[i] > before[i], gradients[i].defined()) << variables[i].name;
  }
}

/// Steps [begin, end) as this many processes, from `state` if it is given; returns the state after
/// them.
nn::Checkpoint run(const Make& make, const Reference& want, index_t size, index_t begin,
                   index_t end, const nn::Checkpoint* state, bool loads_first) {
  nn::Checkpoint result;
  const auto body = [&](Communicator& processes) {
    const auto optimizer = make(groups());
    for (std::size_t i = 0; i < optimizer->variables().size(); ++i) {
      Tensor weights = optimizer->variables()[i].tensor.detach();
      weights.copy_from(want.weights[static_cast<std::size_t>(begin)][i]);
    }
    if (loads_first) optimizer->load_state(*state);
    Exchange exchange(processes, *optimizer, size);
    if (state != nullptr && !loads_first) optimizer->load_state(exchange.own(*state));
    for (index_t i = begin; i < end; ++i) step(exchange, *optimizer, want, i, processes);
    const nn::Checkpoint whole = exchange.whole(optimizer->state());
    if (processes.rank() == 0) {
      result = whole;
    } else {
      EXPECT_TRUE(
          same_state(whole, exchange.whole(optimizer->settings())));  // which has no tensors
    }
  };
  run_processes(size, body, {.delivery = Delivery::kRandom, .threads = size == 2 ? 2 : 1});
  return result;
}

TEST(Exchange, HasTheBitsOfOneProcessWhoeverSavesAndLoads) {
  struct Case {
    const char* algorithm;
    index_t begins, ends;  // processes of the first and of the resumed run
    bool loads_first;      // the whole state, before it has chunks
  };
  const std::vector<Case> cases = {
      {"sgd", 7, 2, false},         {"sgd_nesterov", 2, 3, true}, {"adam_decay", 3, 7, false},
      {"adamw_decay", 3, 2, false}, {"adamw_decay", 7, 3, true},
  };
  const std::map<std::string, Make> makers = algorithms();
  std::map<std::string, Reference> references;
  for (const auto& [algorithm, begins, ends, loads_first] : cases) {
    SCOPED_TRACE(str_cat(algorithm, ", ", begins, " processes, then ", ends));
    const Make& make = makers.at(algorithm);
    const Reference& want = references.try_emplace(algorithm, make).first->second;
    const nn::Checkpoint saved = run(make, want, begins, 0, kSaved, nullptr, false);
    EXPECT_TRUE(same_state(saved, want.saved));
    const nn::Checkpoint last = run(make, want, ends, kSaved, kSteps, &saved, loads_first);
    EXPECT_TRUE(same_state(last, want.last));
  }
}

/// The memory of the kept tensors, from which states are made.
index_t bytes_of(const nn::Checkpoint& state) {
  index_t bytes = 0;
  for (const auto& [name, tensor] : state.tensors) {
    bytes += tensor.count() * item_size(tensor.dtype());
  }
  return bytes;
}

TEST(Exchange, EachProcessKeepsItsPartOfTheMemory) {
  const index_t count = 20 * nn::kChunkElements + 5;
  const auto make = [&] { return nn::AdamW(one_group(variable(zeros({count})))); };
  const index_t bytes = 2 * 4 * count;
  for (const index_t size : {2, 3, 7}) {
    run_processes(size, [&](Communicator& processes) {
      nn::AdamW optimizer = make();
      const Exchange exchange(processes, optimizer, size);
      const index_t kept = bytes_of(optimizer.state());
      EXPECT_LE(kept, bytes / size + 2 * 4 * nn::kChunkElements);
      for (const Parameter& view : optimizer.variables()) {
        view.tensor.grad_slot()->gradient = zeros({view.tensor.count()});
      }
      optimizer.step();
      EXPECT_EQ(bytes_of(optimizer.state()), kept);
      index_t total = 0;
      for (const std::string& one : processes.all_gather(str_cat(kept))) total += std::stoll(one);
      EXPECT_EQ(total, bytes);
    });
  }
}

TEST(Exchange, AnOptimizerHasNoMemoryBeforeItsFirstStep) {
  const index_t count = 20 * nn::kChunkElements;
  nn::AdamW optimizer(one_group(variable(zeros({count}))));
  const index_t before = memory_stats().in_use;
  const nn::Checkpoint state = optimizer.state();
  EXPECT_EQ(bytes_of(state), 2 * 4 * count);
  EXPECT_LT(memory_stats().in_use - before, 4 * count);
  optimizer.load_state(state);
  EXPECT_GE(memory_stats().in_use - before, 2 * 4 * count);
}

TEST(Exchange, OneProcessAloneChangesNothing) {
  nn::OneProcess alone;
  const Tensor w = variable(ones({3}));
  nn::Adam optimizer(one_group(w));
  const nn::Checkpoint before = optimizer.state();
  for (Communicator* const processes :
       {static_cast<Communicator*>(&alone), (Communicator*)nullptr}) {
    const auto team = nn::make_team(processes, optimizer, 5);
    EXPECT_EQ(optimizer.variables()[0].tensor.grad_slot(), w.grad_slot());
    EXPECT_TRUE(same_state(team->whole(optimizer.state()), before));
    EXPECT_TRUE(same_state(team->own(before), before));
  }
  EXPECT_EQ(before.tensors.at("w.exp_avg").to_vector<float>(), std::vector<float>(3));
}

TEST(Exchange, GivesTheOptimizerViewsOfItsOwnChunks) {
  run_processes(2, [&](Communicator& processes) {
    const index_t count = 2 * nn::kChunkElements + 3;
    const Tensor v = variable(ones({3})), w = variable(ones({count, 1}));
    nn::SGD optimizer({{.parameters = {{"v", v}}}, {.parameters = {{"w", w}}, .lr = 2.0}},
                      {.momentum = 0.5});
    const Exchange exchange(processes, optimizer, 2);
    std::vector<std::string> names;
    for (const Parameter& view : optimizer.variables()) names.push_back(view.name);
    const bool is_first = processes.rank() == 0;
    EXPECT_EQ(names, is_first
                         ? (std::vector<std::string>{"v[0:3]", "w[65536:131072]"})
                         : (std::vector<std::string>{"v[0:0]", "w[0:65536]", "w[131072:131075]"}));
    EXPECT_EQ(optimizer.groups()[1].lr, 2);
    EXPECT_EQ(optimizer.groups()[1].parameters[0].tensor.storage(), w.storage());
    EXPECT_EQ(exchange.variables()[1].tensor.grad_slot(), w.grad_slot());
    // No other trainer can use them: their names differ between processes.
    EXPECT_TRUE(throws("Trainer", {"all ranks must run the same program", "v[0:3]", "v[0:0]"},
                       [&] { Exchange(processes, optimizer, 2); }));
  });
}

TEST(Exchange, RefusesProcessesThatDisagree) {
  run_processes(2, [](Communicator& processes) {
    const bool is_first = processes.rank() == 0;
    const Tensor w = variable(ones({3}));
    const auto fails = [&](const std::string& difference, Optimizer&& optimizer) {
      const auto result =
          throws("Trainer", {difference}, [&] { Exchange(processes, optimizer, 2); });
      EXPECT_EQ(optimizer.variables()[0].name, "w");
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
  });
}

TEST(Exchange, AStateThatDoesNotFitChangesNothing) {
  run_processes(3, [](Communicator& processes) {
    const Tensor w = variable(ones({2, 50000}));
    nn::AdamW optimizer(one_group(w));
    const Exchange exchange(processes, optimizer, 3);
    for (const Parameter& view : optimizer.variables()) {
      view.tensor.grad_slot()->gradient = ones({view.tensor.count()});
    }
    optimizer.step();
    const nn::Checkpoint before = exchange.whole(optimizer.state());
    const auto fails = [&](const std::vector<std::string>& parts, const auto& change) {
      nn::Checkpoint state = exchange.whole(optimizer.settings());
      for (const char* const name : {"w.exp_avg", "w.exp_avg_sq"}) {
        state.tensors[name] = full({2, 50000}, 9);
      }
      state.set("beta1", 0.5);
      change(state);
      const auto result =
          throws("load_state", parts, [&] { optimizer.load_state(exchange.own(state)); });
      EXPECT_TRUE(same_state(exchange.whole(optimizer.state()), before));
      return result;
    };
    EXPECT_TRUE(fails({"missing: w.exp_avg_sq"},
                      [](nn::Checkpoint& state) { state.tensors.erase("w.exp_avg_sq"); }));
    EXPECT_TRUE(fails({"w.exp_avg must have shape (2, 50000), got (100000,)"},
                      [](nn::Checkpoint& state) { state.tensors["w.exp_avg"] = zeros({100000}); }));
    EXPECT_TRUE(
        fails({"missing: w.step"}, [](nn::Checkpoint& state) { state.values.erase("w.step"); }));
    EXPECT_TRUE(fails({"eps must be finite and at least 0, got -1"},
                      [](nn::Checkpoint& state) { state.values["eps"] = "-1"; }));
  });
}

}  // namespace
}  // namespace tessera::test
