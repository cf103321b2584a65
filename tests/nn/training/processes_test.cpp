// Several processes train one model with the bits of one. They are threads here.
#include <ios>

#include "models/encoder.h"
#include "nn/nn.h"
#include "nn/training/detail/chunks.h"
#include "tests/nn/training/processes_run.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/support.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

using Chosen = std::span<const index_t>;

struct Course {
  std::string name;
  index_t examples;
  TrainerOptions options;
  bool uses_sgd = false;
  bool checkpoints = false;     // of a TokenNet
  bool is_adversarial = false;  // a WideNet
  DType dtype = kFloat32;
};

/// Predicts hidden tokens of sequences of several lengths. Some examples have no target; the table
/// is also the last layer's weight; `rare` has a gradient only for some examples, and `spare`
/// never.
struct TokenNet {
  static constexpr index_t kTokens = 5, kVocabulary = 11, kWidth = 8;

  Embedding table;
  models::Encoder encoder;
  Linear rare, spare;

  explicit TokenNet(const Course& course) : TokenNet(course, Rng(3)) {}
  TokenNet(const Course& course, Rng rng)
      : table(kVocabulary, kWidth, rng),
        encoder({.layers = models::repeat_layer({.d_model = kWidth,
                                                 .nhead = 2,
                                                 .dim_feedforward = 12,
                                                 .norm_first = true,
                                                 .gradient_checkpoint = course.checkpoints},
                                                2),
                 .final_norm = true},
                rng),
        rare(kWidth, kWidth, rng),
        spare(kWidth, kWidth, rng) {}

  static index_t length_of(index_t example) { return 1 + example * 7 % kTokens; }

  LossSum loss(Chosen chosen) const {
    std::vector<index_t> ids, targets, lengths;
    for (const index_t i : chosen) {
      lengths.push_back(length_of(i));
      for (index_t t = 0; t < kTokens; ++t) {
        ids.push_back((i * 3 + t * 5) % kVocabulary);
        targets.push_back(t < length_of(i) && t < i % 4 ? (i * 3 + t) % kVocabulary : -100);
      }
    }
    const auto rows = std::ssize(chosen);
    const Tensor x = table(from_vector(ids).reshape({rows, kTokens}));
    Tensor y = encoder(x, length_mask(from_vector(lengths)));
    if (std::ranges::any_of(chosen, [](index_t i) { return i % 6 == 5; })) y = y + rare(y);
    const Tensor scores = matmul(y, table.weight->transpose(0, 1));
    return summed_cross_entropy(scores.reshape({rows * kTokens, kVocabulary}),
                                from_vector(targets));
  }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("table", self.table);
    visitor("encoder", self.encoder);
    visitor("rare", self.rare);
    visitor("spare", self.spare);
  }
};

/// Parameters of several chunks. The loss may have its own tape.
struct WideNet {
  Linear first;
  Dropout dropout{0.3};
  Linear second;
  bool is_adversarial;

  explicit WideNet(const Course& course) : WideNet(course, Rng(3)) {}
  WideNet(const Course& course, Rng rng)
      : first(4, 20000, rng), second(20000, 4, rng), is_adversarial(course.is_adversarial) {}

  static index_t length_of(index_t) { return 1; }

  LossSum loss(Chosen chosen) const {
    std::vector<double> numbers;
    for (const index_t i : chosen) {
      for (index_t k = 0; k < 4; ++k) numbers.push_back(static_cast<double>((i * 5 + k * 3) % 7));
    }
    const Tensor x =
        from_vector(numbers).to(first.weight.dtype()).reshape({std::ssize(chosen), 4}) * 0.1;
    const auto of = [&](const Tensor& in) {
      return summed_squared_error(second(dropout(first(in, Activation::kGelu))), x * 2);
    };
    if (!is_adversarial) return of(x);
    return adversarial_loss(
        x.shape(), 0.1, [&](const Tensor& shift) { return of(x + shift); }, x.dtype());
  }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("first", self.first);
    visitor("dropout", self.dropout);
    visitor("second", self.second);
  }
};

TrainerCallbacks writing_to(std::string& log) {
  return {.step =
              [&log](const StepReport& report) {
                const LossTotals& totals = report.totals;
                log +=
                    str_cat(std::hexfloat, report.step, ": ", totals.loss, " ", totals.count, " ",
                            totals.correct, " ", report.gradient_norm, " ", report.lr, "\n");
              },
          .evaluation =
              [&log](const EvaluationReport& report) {
                log += str_cat(std::hexfloat, "held out: ", report.totals.loss, " ",
                               report.totals.count, report.is_best ? " best\n" : "\n");
              }};
}

template <class N>
Examples examples_of(const N& net, index_t first, index_t count) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < count; ++i) lengths.push_back(N::length_of(first + i));
  return {lengths, [&net, first](Chosen chosen) {
            std::vector<index_t> shifted(chosen.begin(), chosen.end());
            for (index_t& i : shifted) i += first;
            return net.loss(shifted);
          }};
}

template <class N>
Outcome train(const Course& course, Communicator* processes) {
  N net(course);
  convert(net, course.dtype);
  set_requires_grad(net);
  std::optional<AdamW> adam;
  std::optional<SGD> sgd;
  if (course.uses_sgd) sgd.emplace(parameters(net), SgdOptions{.lr = 0.05, .momentum = 0.9});
  if (!course.uses_sgd) adam.emplace(split_weight_decay(net), AdamWOptions{.lr = 0.02});
  TrainerOptions options = course.options;
  options.communicator = processes;
  const bool evaluates = options.evaluate_every > 0;
  Trainer trainer(net, sgd ? static_cast<Optimizer&>(*sgd) : *adam,
                  examples_of(net, 0, course.examples), options,
                  evaluates ? examples_of(net, 100, 13) : Examples());
  Outcome outcome;
  const RunEnd end = trainer.run(writing_to(outcome.log));
  outcome.log += str_cat("end ", static_cast<int>(end), " in step ", trainer.step());
  outcome.state = copy_of(trainer.state());
  return outcome;
}

using Train = Outcome (*)(const Course&, Communicator*);

void expect_one_digest(const Course& course, Train train, const std::vector<index_t>& sizes,
                       const std::vector<int>& threads_of_each) {
  SCOPED_TRACE(course.name);
  const Outcome want = train(course, nullptr);
  EXPECT_TRUE(contains(want.log, "end"));
  for (const index_t size : sizes) {
    for (const int threads : threads_of_each) {
      SCOPED_TRACE(str_cat(size, " processes of ", threads, " threads"));
      const auto delivery = static_cast<Delivery>((size + threads) % 3);
      expect_same(each_of(size, [&](Communicator& processes) { return train(course, &processes); },
                          {.delivery = delivery, .threads = threads}),
                  want);
    }
  }
}

/// 19 examples in batches of 8: the last one has 3, fewer than shards.
const std::vector<Course>& courses() {
  static const std::vector<Course> all = {
      {.name = "AdamW, clipping, decay",
       .examples = 19,
       .options = {.epochs = 2,
                   .batch_size = 8,
                   .shards = 7,
                   .seed = 5,
                   .decay = Schedule::Decay::kLinear,
                   .warmup = 0.2,
                   .clip = 0.1}},
      {.name = "SGD, averages, checkpoints of gradients, evaluations",
       .examples = 19,
       .options = {.epochs = 2,
                   .batch_size = 8,
                   .shards = 8,
                   .seed = 6,
                   .average = 0.7,
                   .evaluate_every = 2},
       .uses_sgd = true,
       .checkpoints = true},
      {.name = "AdamW, patience, more shards than examples",
       .examples = 19,
       .options = {.epochs = 20,
                   .batch_size = 8,
                   .shards = 11,
                   .seed = 7,
                   .average = 0.1,
                   .evaluate_every = 1,
                   .patience = 2,
                   .best_by = BestBy::kAccuracy},
       .checkpoints = true},
  };
  return all;
}

const Course kWide = {
    .name = "several chunks of a parameter",
    .examples = 20,
    .options = {.epochs = 1, .batch_size = 8, .shards = 7, .seed = 8, .clip = 0.5}};

using ProcessesBitsTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ProcessesBitsTest, test::each_isa(), test::isa_name);

TEST_P(ProcessesBitsTest, OneDigestOverProcessesAndThreads) {
  const std::vector<index_t> sizes = {1, 2, 3, 4, 7};
  expect_one_digest(courses()[0], train<TokenNet>, sizes, {1, 2});
  expect_one_digest(courses()[1], train<TokenNet>, sizes, {1});
  expect_one_digest(courses()[2], train<TokenNet>, sizes, {2});
  expect_one_digest(kWide, train<WideNet>, sizes, {1});
  expect_one_digest(kWide, train<WideNet>, {2}, {2});
}

TEST(Processes, GiveTheBitsOfOne) {
  expect_one_digest(courses()[1], train<TokenNet>, {3}, {1});
  Course patient = courses()[2];
  EXPECT_TRUE(contains(train<TokenNet>(patient, nullptr).log, "end 1")) << "patience must end it";
  Course wide = kWide;
  wide.options.steps = 2;
  expect_one_digest(wide, train<WideNet>, {3}, {1});
  wide.is_adversarial = true;
  wide.dtype = kFloat64;
  expect_one_digest(wide, train<WideNet>, {2}, {1});
}

// ---- stopping and resuming ----

TEST(Processes, AnotherNumberOfThemResumesToTheSameBits) {
  const Outcome want = run_until(1, {})[0];
  const auto stopped = str_cat(static_cast<int>(RunEnd::kStopped), " ");
  Checkpoint state;
  index_t step = 0;
  for (const index_t size : {3, 1, 2, 5}) {
    step += 4;
    const std::vector<Outcome> outcomes = run_until(size, state, step, size - 1);
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.log, stopped + std::to_string(step));
    state = outcomes[0].state;
  }
  expect_same(run_until(4, state), want);
}

TEST(Processes, AllStopAfterTheSameStepWhereOneIsAskedBetweenSteps) {
  // From the save hook, which comes after the first check.
  const std::vector<std::string> ends = each_of(3, [](Communicator& processes) {
    Trial run(sharded(&processes));
    std::string saved;
    const RunEnd end = run.trainer.run({.save = [&] {
      saved += str_cat(run.trainer.step(), " ");
      if (processes.rank() == 1) run.trainer.stop();
    }});
    return str_cat(saved, static_cast<int>(end));
  });
  for (const std::string& end : ends) EXPECT_EQ(end, "7 2");
}

// ---- messages ----

/// The formula of exchange.h, in bytes: subtrees of a process times the elements of others, and its
/// own elements to all others.
TEST(Processes, SendWhatTheFormulaSays) {
  struct Case {
    index_t shards, processes;
    std::vector<index_t> subtrees;  // of each process
  };
  const std::vector<Case> cases = {
      {4, 2, {1, 1}}, {4, 4, {1, 1, 1, 1}}, {7, 3, {1, 1, 1}}, {8, 3, {1, 2, 2}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(str_cat(c.shards, " shards, ", c.processes, " processes"));
    const std::vector<index_t> sent = each_of(c.processes, [&](Communicator& processes) {
      WideNet net(kWide);
      set_requires_grad(net);
      SGD optimizer(parameters(net), {.lr = 0.01});
      Trainer trainer(
          net, optimizer, examples_of(net, 0, 40),
          {.steps = 4, .batch_size = 10, .shards = c.shards, .communicator = &processes});
      std::vector<index_t> after;
      trainer.run({.step = [&](const StepReport&) { after.push_back(processes.bytes_sent()); }});
      EXPECT_EQ(after[2] - after[1], after[1] - after[0]);
      index_t elements = 0, own = 0;
      std::vector<index_t> counts;
      for (const Parameter& parameter : parameters(net)) counts.push_back(parameter.tensor.count());
      for (const Chunk& chunk : cut_into_chunks(counts, c.processes)) {
        elements += chunk.count;
        if (chunk.owner == processes.rank()) own += chunk.count;
      }
      EXPECT_EQ(elements, 4 * 20000 + 20000 + 4 * 20000 + 4);
      const index_t subtrees = c.subtrees[static_cast<std::size_t>(processes.rank())];
      EXPECT_EQ(after[1] - after[0], 4 * (subtrees * (elements - own) + (c.processes - 1) * own));
      return after[1] - after[0];
    });
    if (c.processes == 2) {
      EXPECT_EQ(sent[0] + sent[1], 4 * 2 * (180004)) << "2 N (P - 1) / P of each";
    }
  }
}

}  // namespace
}  // namespace tessera::nn
