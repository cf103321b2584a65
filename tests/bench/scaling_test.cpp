// The formula for a step on many hosts, compared with values computed by hand; its counts, compared
// with the messages of the trainer; the program that prints the table.
#include "bench/scaling_model.h"
#include "nn/nn.h"
#include "nn/training/detail/chunks.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::test {
namespace {

using bench::Traffic;

constexpr index_t kChunk = nn::kChunkElements;

struct TrafficCase {
  const char* name;
  std::vector<index_t> counts;
  Traffic expected;  // hosts; elements and chunks of all; those of the busiest host
  index_t sent;
};

TEST(Scaling, TrafficIsCountedExactly) {
  const std::vector<TrafficCase> cases = {
      {"one host", {100, 7}, {1, 107, 2, 107, 2}, 0},
      // Chunks of 65536, 34464 and 10 elements; host 0 owns the first.
      {"two, and N is odd to both", {100000, 10}, {2, 100010, 3, kChunk, 2}, 100010},
      {"1024, a chunk each",
       {1024 * kChunk},
       {1024, 1024 * kChunk, 1024, kChunk, 1},
       2 * 1023 * kChunk},
      // The messages of the owner of one of two chunks do not decrease with P.
      {"more hosts than chunks", {2 * kChunk}, {4, 2 * kChunk, 2, kChunk, 1}, 4 * kChunk},
  };
  for (const TrafficCase& each : cases) {
    SCOPED_TRACE(each.name);
    const Traffic t = bench::traffic_of(each.counts, each.expected.hosts);
    EXPECT_EQ(t.hosts, each.expected.hosts);
    EXPECT_EQ(t.parameters, each.expected.parameters);
    EXPECT_EQ(t.chunks, each.expected.chunks);
    EXPECT_EQ(t.owned, each.expected.owned);
    EXPECT_EQ(t.owned_chunks, each.expected.owned_chunks);
    EXPECT_EQ(t.sent(), each.sent);
  }
  EXPECT_TRUE(
      throws("traffic_of", {"parameters must be at least 1"}, [&] { bench::traffic_of({}, 3); }));
}

TEST(Scaling, TimesAreThoseOfTheFormula) {
  const bench::Work work = {.forward = 0.25, .backward = 0.5, .update = 0.1, .addition = 1e-7};
  const std::vector<index_t> counts = {2 * kChunk};
  const double half = 4.0 * kChunk;  // bytes of half of the parameters
  const auto time = [&](index_t hosts, bench::Link link, index_t layers) {
    return bench::step_time(bench::traffic_of(counts, hosts), work, link, layers);
  };
  const bench::Link unused = {.latency = 9, .bandwidth = 1};
  EXPECT_NEAR(time(1, unused, 1).work, 0.85, 1e-9);
  EXPECT_EQ(time(1, unused, 1).exchange, 0);

  // A link that carries the gradients, and the weights, in a second.
  const bench::Link link = {.latency = 0.01, .bandwidth = half, .overhead = 0, .copy = 0};
  EXPECT_NEAR(time(2, link, 1).work, 0.75 + kChunk * 1e-7 + 0.05, 1e-9);
  EXPECT_NEAR(time(2, link, 1).exchange, 1.01 + 1.01 + 0.06, 1e-9) << "nothing goes earlier";
  // Two layers: the first half goes from 0.25 to 0.75, the second one follows until 1.25.
  EXPECT_NEAR(time(2, link, 2).exchange, 0.76 + 1.01 + 0.06, 1e-9);
  // Four times as fast: only the second half remains at the end.
  bench::Link fast = link;
  fast.bandwidth = 4 * half;
  EXPECT_NEAR(time(2, fast, 2).exchange, 0.125 + 0.01 + 0.25 + 0.01 + 0.06, 1e-9);
  // Four hosts and two chunks: the owner of one sends it to three others.
  EXPECT_NEAR(time(4, link, 1).work, 0.75 + 3 * kChunk * 1e-7 + 0.05, 1e-9);
  EXPECT_NEAR(time(4, link, 1).exchange, 3.01 + 3.01 + 0.12, 1e-9);

  // A processor that handles bytes more slowly than the link, and two messages each.
  bench::Link slow = link;
  slow.copy = 2 / half;
  slow.overhead = 0.125;
  EXPECT_NEAR(time(2, slow, 2).exchange, 2 * (4 + 0.25) + 6 * (0.01 + 0.25), 1e-9);
  EXPECT_NEAR(time(4, slow, 2).exchange, 2 * (2 + 6 + 4 * 0.125) + 12 * (0.01 + 0.25), 1e-9);
}

TEST(Scaling, SlowerNetworksNeverTakeLessTime) {
  const bench::Work work = {.forward = 0.01, .backward = 0.02, .update = 0.001};
  const std::vector<index_t> counts = {700 * 384, 384, 9 * kChunk + 5};
  for (const index_t hosts : {2, 3, 7, 64, 1024}) {
    const Traffic traffic = bench::traffic_of(counts, hosts);
    const auto time = [&](double latency, double bandwidth, double overhead, double copy) {
      return bench::step_time(traffic, work, {latency, bandwidth, overhead, copy}, 6).total();
    };
    for (double x = 1; x < 1000; x *= 1.7) {
      EXPECT_LT(time(1e-6 * x, 1e9, 0, 0), time(1.7e-6 * x, 1e9, 0, 0)) << hosts;
      EXPECT_LT(time(1e-6, 1e10 / x, 0, 0), time(1e-6, 1e10 / 1.7 / x, 0, 0)) << hosts;
      EXPECT_LE(time(1e-6, 1e9, 1e-7 * x, 0), time(1e-6, 1e9, 1.7e-7 * x, 0)) << hosts;
      EXPECT_LE(time(1e-6, 1e9, 0, 1e-12 * x), time(1e-6, 1e9, 0, 1.7e-12 * x)) << hosts;
    }
  }
}

/// The bytes that the busiest process sends are those of the formula, in real steps of the trainer
/// on processes that are threads.
TEST(Scaling, TheTrainerSendsWhatIsCounted) {
  constexpr index_t kHosts = 3, kSteps = 4;
  std::vector<index_t> sent(kHosts);
  std::vector<index_t> counts;
  run_processes(kHosts, [&](nn::Communicator& processes) {
    Rng rng(1);
    nn::Linear net(600, 300, rng);
    nn::set_requires_grad(net);
    nn::AdamW optimizer(nn::split_weight_decay(net), {.lr = 1e-4});
    if (processes.rank() == 0) {
      for (const nn::ParameterGroup& group : nn::split_weight_decay(net)) {
        for (const auto& each : group.parameters) counts.push_back(each.tensor.count());
      }
    }
    const auto loss = [&](std::span<const index_t> chosen) {
      return nn::summed_squared_error(net(ones({std::ssize(chosen), 600})),
                                      zeros({std::ssize(chosen), 300}));
    };
    // More examples than needed, because the end of an epoch has its own exchange.
    nn::Trainer trainer(net, optimizer, {std::vector<index_t>(kHosts * (kSteps + 2), 1), loss},
                        {.steps = kSteps,
                         .batch_size = kHosts,
                         .shards = kHosts,
                         .clip = 1,
                         .communicator = &processes});
    const index_t before = processes.bytes_sent();
    trainer.run({});
    sent[static_cast<std::size_t>(processes.rank())] = processes.bytes_sent() - before;
  });
  const index_t expected = 4 * bench::traffic_of(counts, kHosts).sent();
  EXPECT_EQ(*std::ranges::max_element(sent), kSteps * expected);
}

class ScalingProgram : public Programs {};

/// The text after the first row of a table.
std::string table_in(const std::string& text) {
  const std::size_t begin = text.find("| hosts |");
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST_F(ScalingProgram, MeasuresAndPrintsATable) {
  const std::string small =
      "--layers 1 --width 16 --heads 2 --feed-forward 32 --batch-size 2 --tokens 5 --seconds 0 ";
  const std::string table = output_of("tessera_scaling", small + "--hosts 2,1024 --bandwidth 2.5");
  EXPECT_TRUE(contains(table, "Encoder L1 D16 H2 F32, "));
  EXPECT_TRUE(contains(table, "norm and optimiser "));
  EXPECT_TRUE(contains(table, "| 2.5 Gbit/s: exchange |"));
  EXPECT_TRUE(contains(table, "\n| 1024 |"));
  expect_fails("tessera_scaling", {
                                      {"--times 1,2,3", "--times must be 4 numbers"},
                                      {"--hosts 2,,4", "--hosts must be numbers from 1 to 65536"},
                                      {"--bandwidth fast", "got 'fast'"},
                                      {"--heads 5", "--heads must divide --width 384"},
                                  });
}

TEST_F(ScalingProgram, ThePageHasItsTable) {
  const std::string page = file_text(fs::path(TESSERA_SOURCE_DIR) / "bench/scaling.md");
  const std::size_t begin = page.find("build/release/bench/tessera_scaling --times ");
  ASSERT_NE(begin, std::string::npos);
  const std::string command = page.substr(begin, page.find('\n', begin) - begin);
  const std::string known = output_of("tessera_scaling", command.substr(command.find("--times")));
  EXPECT_EQ(table_in(page), table_in(known + "\n"));
}

}  // namespace
}  // namespace tessera::test
