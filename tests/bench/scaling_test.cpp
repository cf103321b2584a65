// The model of a step's time on many hosts, against values computed by hand; a delayed communicator;
// the program that prints the table.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "bench/scaling/check.h"
#include "bench/scaling/compute.h"
#include "bench/scaling/delayed_communicator.h"
#include "bench/scaling/link_probe.h"
#include "bench/scaling/table.h"
#include "nn/training/chunks.h"
#include "tests/programs/programs.h"
#include "tests/support/errors.h"
#include "tests/support/thread_communicator.h"

namespace tessera::test {
namespace {

using bench::Traffic;

constexpr index_t kChunk = nn::kChunkElements;

struct TrafficCase {
  const char* name;
  std::vector<index_t> counts;
  index_t shards, processes;
  Traffic expected;
};

/// Fields in their order: processes, shards, N; most shards and elements of a process; elements of
/// gradients and of weights, out and in; messages of both; elements
/// sent of both; bytes gathered; elements added.
const std::vector<TrafficCase>& traffic_cases() {
  static const std::vector<TrafficCase> cases = {
      {"one process", {100, 7}, 3, 1, {1, 3, 107, 3, 107, 0, 0, 0, 0, 0, 0, 0, 0, 2 * 107}},
      // Chunks of 65536, 34464 and 10 elements, of which process 0 owns the first.
      {"two, and N is odd to both",
       {100000, 10},
       2,
       2,
       {2, 2, 100010, 1, kChunk, kChunk, kChunk, kChunk, kChunk, 2 + 1, 2 + 1, 100010,
        2 * (24 + 2) + (6 + 2) * 8 + 2, kChunk}},
      // Shards 0 | 1, 2 | 3, 4: five subtrees, because 1 and 2 have other neighbours, as 3 and 4.
      {"three, of uneven shards",
       {2 * kChunk, 3},
       5,
       3,
       {3, 5, 2 * kChunk + 3, 2, kChunk, 2 * 2 * kChunk, 4 * kChunk, 2 * kChunk, 2 * kChunk, 7, 4,
        4 * kChunk + 6, 5 * (24 + 2) + (8 + 2) * 8 + 3, 4 * kChunk}},
      {"1024, a chunk each",
       {1024 * kChunk},
       1024,
       1024,
       {1024, 1024, 1024 * kChunk, 1, kChunk, 1023 * kChunk, 1023 * kChunk, 1023 * kChunk,
        1023 * kChunk, 2 * 1023, 2 * 1023, 2 * 1023 * kChunk, 1024 * 25 + 4097 * 8 + 1024,
        1023 * kChunk}},
      // The first process owns one of two chunks: what it sends and receives does not fall with P.
      {"more processes than chunks",
       {2 * kChunk},
       4,
       4,
       {4, 4, 2 * kChunk, 1, kChunk, 2 * kChunk, 3 * kChunk, 3 * kChunk, 2 * kChunk, 1 + 3, 3 + 1,
        4 * kChunk, 4 * 25 + 9 * 8 + 4, 3 * kChunk}},
      // Eight shards of one process are one subtree, of which it sends one gradient.
      {"shards added before they are sent",
       {2 * kChunk},
       16,
       2,
       {2, 16, 2 * kChunk, 8, kChunk, kChunk, kChunk, kChunk, kChunk, 2, 2, 2 * kChunk,
        2 * 25 + 9 * 8 + 2, 7 * 2 * kChunk + kChunk}},
  };
  return cases;
}

TEST(Scaling, TrafficIsCountedExactly) {
  for (const TrafficCase& each : traffic_cases()) {
    SCOPED_TRACE(each.name);
    const Traffic t = bench::traffic_of(each.counts, each.shards, each.processes);
    const Traffic& e = each.expected;
    EXPECT_EQ(t.processes, e.processes);
    EXPECT_EQ(t.shards, e.shards);
    EXPECT_EQ(t.parameters, e.parameters);
    EXPECT_EQ(t.most_shards, e.most_shards);
    EXPECT_EQ(t.most_owned, e.most_owned);
    EXPECT_EQ(t.gradients_out, e.gradients_out);
    EXPECT_EQ(t.gradients_in, e.gradients_in);
    EXPECT_EQ(t.weights_out, e.weights_out);
    EXPECT_EQ(t.weights_in, e.weights_in);
    EXPECT_EQ(t.gradient_messages, e.gradient_messages);
    EXPECT_EQ(t.weight_messages, e.weight_messages);
    EXPECT_EQ(t.most_sent, e.most_sent);
    EXPECT_EQ(t.gathered, e.gathered);
    EXPECT_EQ(t.additions, e.additions);
  }
  const std::vector<index_t> counts = {10};
  EXPECT_TRUE(throws("traffic_of", {"processes must be at most the shards, 3, got 4"},
                     [&] { bench::traffic_of(counts, 3, 4); }));
  EXPECT_EQ(bench::cut(std::vector<index_t>{10, 3}, 4), (std::vector<index_t>{4, 4, 2, 3}));
  EXPECT_TRUE(throws("traffic_of", {"parameters must be at least 1"},
                     [&] { bench::traffic_of({}, 3, 1); }));
}

TEST(Scaling, TimesAreThoseOfTheFormula) {
  const bench::Host host = {.forward = 0.25, .backward = 0.5, .update = 0.1, .addition = 1e-7};
  const std::vector<index_t> counts = {2 * kChunk};
  const double n = 2.0 * kChunk;
  const double half = 4.0 * kChunk;  // bytes of half of the parameters
  const auto time = [&](index_t shards, index_t processes, const bench::Link& link,
                        index_t layers = 1, double first = 0) {
    return bench::step_time(bench::traffic_of(counts, shards, processes), host, link,
                            bench::stages_of(layers, first));
  };
  // Alone: no link is used.
  const bench::StepTime one = time(3, 1, {.latency = 9, .bandwidth = 1});
  EXPECT_NEAR(one.compute, 3 * 0.75 + 2 * n * 1e-7 + 0.1, 1e-9);
  EXPECT_EQ(one.imbalance, 0);
  EXPECT_EQ(one.exchange, 0);

  // A link that carries the gradients, and the weights, in a second.
  const bench::Link link = {.latency = 0.01, .bandwidth = half};
  const double rest = 6 * 0.01 + 124 / half;  // of 124 bytes that are gathered
  const bench::StepTime two = time(2, 2, link);
  EXPECT_NEAR(two.compute, (2 * 0.75 + n * 1e-7 + 0.1) / 2, 1e-9);
  EXPECT_NEAR(two.imbalance, 0, 1e-9);
  EXPECT_NEAR(two.exchange, 1.01 + 1.01 + rest, 1e-6) << "nothing can be sent before the end";
  // Two layers: the first half goes from 0.25 to 0.75, the second one follows until 1.25.
  EXPECT_NEAR(time(2, 2, link, 2).exchange, 0.76 + 1.01 + rest, 1e-6);
  // An embedding of half of the elements: layers of a quarter at 0.25 and 0.5, the rest behind.
  EXPECT_NEAR(time(2, 2, link, 2, 0.5).exchange, 0.76 + 1.01 + rest, 1e-6);
  const bench::Link twice = {.latency = 0.01, .bandwidth = 4 * half};
  EXPECT_NEAR(time(2, 2, twice, 2, 0.5).exchange, 0.1975 + 0.26 + 0.06 + 31 / half, 1e-6);

  // A processor that handles bytes more slowly than the link, and messages: two each.
  bench::Link slow = link;
  slow.copy = 2 / half;
  slow.overhead = 0.125;
  EXPECT_NEAR(time(2, 2, slow).exchange, 2 * (4 + 0.25) + 6 * (0.01 + 0.25) + 124 / half, 1e-6);

  // Three shards on two processes: one computes two.
  EXPECT_NEAR(time(3, 2, link).imbalance, 0.5 * 0.75, 0.5 * n * 1e-7);
  bench::Host uneven = host;
  uneven.spread = 0.1;
  const Traffic four = bench::traffic_of(counts, 16, 4);
  EXPECT_NEAR(bench::step_time(four, uneven, link, bench::stages_of(1)).imbalance -
                  bench::step_time(four, host, link, bench::stages_of(1)).imbalance,
              0.1 * 0.75 * 2 * 1.0294, 1e-4);
}

TEST(Scaling, SlowerNetworksNeverTakeLessTime) {
  const bench::Host host = {.forward = 0.01, .backward = 0.02, .update = 0.001};
  const std::vector<index_t> counts = {700 * 384, 384, 9 * kChunk + 5};
  for (const index_t processes : {2, 3, 7, 64, 1024}) {
    const Traffic traffic = bench::traffic_of(counts, processes, processes);
    const auto time = [&](double latency, double bandwidth, double overhead, double copy) {
      return bench::step_time(traffic, host, {latency, bandwidth, overhead, copy},
                              bench::stages_of(6, 0.2))
          .total();
    };
    for (double x = 1; x < 1000; x *= 1.7) {
      EXPECT_LT(time(1e-6 * x, 1e9, 0, 0), time(1.7e-6 * x, 1e9, 0, 0)) << processes;
      EXPECT_LT(time(1e-6, 1e10 / x, 0, 0), time(1e-6, 1e10 / 1.7 / x, 0, 0)) << processes;
      EXPECT_LE(time(1e-6, 1e9, 1e-7 * x, 0), time(1e-6, 1e9, 1.7e-7 * x, 0)) << processes;
      EXPECT_LE(time(1e-6, 1e9, 0, 1e-12 * x), time(1e-6, 1e9, 0, 1.7e-12 * x)) << processes;
    }
  }
}

TEST(Scaling, TheLargestOfSeveralAndAmdahlsLaw) {
  // David and Nagaraja's table, and tables of the range in control charts.
  const std::map<index_t, double> means = {{1, 0},       {2, 0.5642},   {3, 0.8463},
                                           {10, 1.5388}, {100, 2.5076}, {1000, 3.2414}};
  for (const auto& [count, mean] : means) {
    EXPECT_NEAR(bench::largest_of_normals(count), mean, 1e-4) << count;
  }
  EXPECT_NEAR(bench::on_cores(1, 0.6, 2, 16), 0.2 + 0.8 / 16, 1e-12);
  EXPECT_NEAR(bench::on_cores(1, 0.6, 2, 2), 0.6, 1e-12);
  EXPECT_EQ(bench::on_cores(1, 2, 2, 16), 1) << "threads that make it slower divide nothing";
  EXPECT_EQ(bench::on_cores(1, 1, 1, 16), 1.0 / 16);
  EXPECT_EQ(bench::on_cores(1, 0.1, 2, 4), 0.25) << "caches help: no more than all is divided";
  EXPECT_EQ(bench::host_of({.update = 3}, {.update = 3}, 2, 16, 12).update, 0.25);
}

/// A group of two whose other process sends back whatever it gets.
class Echo final : public nn::Communicator {
 public:
  index_t rank() const override { return 0; }
  index_t size() const override { return 2; }
  void send(index_t, index_t tag, std::span<const std::byte> bytes) override {
    sent_[tag].emplace_back(bytes.begin(), bytes.end());
    bytes_sent_ += std::ssize(bytes);
  }
  void receive(index_t, index_t tag, std::span<std::byte> bytes) override {
    receives_.emplace_back(tag, bytes);
  }
  void progress() override {}
  void wait() override {
    for (const auto& [tag, bytes] : receives_) {
      ASSERT_EQ(sent_[tag].front().size(), bytes.size());
      std::ranges::copy(sent_[tag].front(), bytes.begin());
      sent_[tag].pop_front();
    }
    receives_.clear();
  }
  std::vector<std::string> all_gather(std::string_view mine) override {
    return {std::string(mine), std::string(mine)};
  }
  index_t bytes_sent() const override { return bytes_sent_; }

 private:
  std::map<index_t, std::deque<std::vector<std::byte>>> sent_;
  std::vector<std::pair<index_t, std::span<std::byte>>> receives_;
  index_t bytes_sent_ = 0;
};

/// The shortest of several tries: other programs may hold the processor in one.
template <class F>
double seconds_of(const F& f) {
  double best = 1e9;
  for (int i = 0; i < 5 && best > 0; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

TEST(Scaling, ADelayedCommunicatorTakesItsTimeAndCarriesTheSameBytes) {
  const auto exchange = [](nn::Communicator& processes, std::size_t size) {
    std::array<std::vector<std::byte>, 3> out, in;
    for (std::size_t i = 0; i < 3; ++i) {
      out[i].assign(size, std::byte(i + 1));
      in[i].assign(size, std::byte(0));
    }
    for (std::size_t i = 0; i < 3; ++i) processes.receive(1, static_cast<index_t>(i / 2), in[i]);
    for (std::size_t i = 0; i < 3; ++i) processes.send(1, static_cast<index_t>(i / 2), out[i]);
    processes.wait();
    EXPECT_EQ(in, out);
  };
  struct Speed {
    bench::Link link;
    std::size_t size;
    double seconds;
  };
  const std::vector<Speed> speeds = {
      {{.latency = 0.02, .bandwidth = 0}, 100, 0.02},
      {{.latency = 0, .bandwidth = 1e5}, 1000, 0.03},  // one after another
      {{.latency = 0.01, .bandwidth = 1e5}, 1000, 0.04},
  };
  for (const Speed& each : speeds) {
    Echo echo;
    bench::DelayedCommunicator delayed(echo, each.link);
    const double seconds = seconds_of([&] { exchange(delayed, each.size); });
    EXPECT_GE(seconds, each.seconds);
    EXPECT_LE(seconds, each.seconds + 0.02);
    EXPECT_EQ(delayed.bytes_sent(), 5 * 3 * static_cast<index_t>(each.size));
    EXPECT_LE(seconds_of([&] { delayed.wait(); }), 0.005) << "nothing was begun";
  }
  Echo echo;
  bench::DelayedCommunicator delayed(echo, {.latency = 0.01, .bandwidth = 1e4});
  const double seconds = seconds_of([&] {
    EXPECT_EQ(delayed.all_gather(std::string(50, 'x')),
              std::vector<std::string>(2, std::string(50, 'x')));
  });
  EXPECT_GE(seconds, 0.01 + 2 * 0.01) << "100 bytes, and one round each of lengths and texts";
  EXPECT_LE(seconds, 0.05);
  EXPECT_TRUE(throws("DelayedCommunicator", {"latency -1"},
                     [&] { bench::DelayedCommunicator(echo, {.latency = -1}); }));

  // What the processors do for messages is found whatever the link; here it is little.
  const bench::Link found = bench::measure_link(echo);
  EXPECT_GT(found.overhead, 0);
  EXPECT_LT(found.overhead, 1e-3);
  EXPECT_LT(found.copy, 1e-7);
  nn::OneProcess alone;
  EXPECT_TRUE(
      throws("measure_link", {"needs at least 2 processes"}, [&] { bench::measure_link(alone); }));
}

TEST(Scaling, TheTableHasARowForEachNumberOfHosts) {
  bench::Plan plan = {.counts = {2 * kChunk},
                      .stages = bench::stages_of(1),
                      .host = {.forward = 0.5, .backward = 0.5},
                      .link = {},
                      .bandwidths = {8 * 4e-9 * kChunk, 100},  // half of the weights in a second
                      .hosts = {1, 2, 4},
                      .batch = 8};
  const std::string weak = bench::markdown(plan);
  EXPECT_NE(weak.find("| 1 | 1.00 s | 0.00 ns | 0.00 ns | 1.00 s | 8.00 | 100 % |"),
            std::string::npos)
      << weak;
  EXPECT_NE(weak.find("| 2 | 1.00 s | 0.00 ns | 2.00 s | 3.00 s | 5.33 | 33 % |"),
            std::string::npos)
      << weak;
  EXPECT_NE(weak.find("\n| 4 | 1.00 s |"), std::string::npos) << weak;
  plan.shards = 2;
  const std::string strong = bench::markdown(plan);
  EXPECT_NE(strong.find("| 1 | 2.00 s | 0.00 ns | 0.00 ns | 2.00 s | 8.00 | 100 % |"),
            std::string::npos)
      << strong;
  EXPECT_NE(strong.find("| 4 | more hosts than shards |"), std::string::npos) << strong;
  EXPECT_NE(strong.find("100 Gbit/s: most examples a second on 2 hosts"), std::string::npos);
  const std::string lines = bench::csv(plan);
  EXPECT_TRUE(lines.starts_with("hosts,gbit_s,compute_s,")) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5) << lines;
}

/// Steps of the trainer, on processes that are threads, through a link that takes most of their time.
TEST(Scaling, RealStepsTakeWhatTheModelSays) {
  bench::CheckOptions options = {
      .task = {.layers = 1, .width = 128, .heads = 2, .feedforward = 256, .batch = 1, .tokens = 4},
      .shards = 3,
      .seconds = 0};
  std::vector<bench::Check> checks;
  run_processes(2, [&](nn::Communicator& processes) {
    const auto found =
        bench::check_model(options, processes, {{.latency = 0.005, .bandwidth = 1e7}});
    if (processes.rank() == 0) checks = found;
  });
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].sent, checks[0].expected);
  const double ratio = checks[0].measured / checks[0].model.total();
  EXPECT_GT(ratio, 0.85) << bench::markdown(checks);
  EXPECT_LT(ratio, 2) << bench::markdown(checks);
}

class ScalingProgram : public Programs {};

TEST_F(ScalingProgram, MeasuresAndPrintsATable) {
  const std::string small =
      "--layers 1 --width 16 --heads 2 --feedforward 32 --batch 2 --tokens 5 --seconds 0 ";
  const Outcome table = run("tessera_scaling", small + "--vocabulary 50 --hosts 2,1024");
  ASSERT_EQ(table.status, 0) << table.errors;
  EXPECT_NE(table.output.find("Encoder L1 D16 H2 F32 V50, "), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("| norm and optimiser |"), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("\n| 1024 |"), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("100 Gbit/s: most examples"), std::string::npos) << table.output;
  const Outcome lines =
      run("tessera_scaling", small + "--csv --hosts 2,3 --bandwidth 2.5 --threads 1");
  EXPECT_NE(lines.output.find("\n3,2.5,"), std::string::npos) << lines.output;
  EXPECT_NE(run("tessera_scaling", "--help").output.find("--latency"), std::string::npos);
  const Outcome check = run("tessera_scaling", small + "--check --shards 2");
  EXPECT_NE(check.output.find("1 processes of"), std::string::npos) << check.errors;
  EXPECT_NE(check.output.find("\n| as it is, "), std::string::npos) << check.output;
  const Outcome known = run("tessera_scaling", small + "--times 16,32,3,5 --hosts 2 --cores 16");
  EXPECT_NE(known.output.find("| backward | 32.0 ms | 2.00 ms |"), std::string::npos)
      << known.output << known.errors;
  EXPECT_TRUE(fails("tessera_scaling", "--times 1,2,3", "--times must be 4 numbers"));
  EXPECT_TRUE(fails("tessera_scaling", "--hosts 2,,4", "--hosts must be numbers from 1 to 65536"));
  EXPECT_TRUE(fails("tessera_scaling", "--bandwidth fast", "got 'fast'"));
  EXPECT_TRUE(fails("tessera_scaling", "--heads 5", "--heads must divide --width 384"));
}

}  // namespace
}  // namespace tessera::test
