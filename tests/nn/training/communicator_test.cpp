// Communication between processes, and their parts: with threads of this program.
#include "nn/training/communicator.h"

#include <atomic>
#include <cstdlib>

#include "nn/training/detail/chunks.h"
#include "tensor/kernels/parallel.h"
#include "tensor/random.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

constexpr Delivery kDeliveries[] = {Delivery::kEarly, Delivery::kLate, Delivery::kRandom};
constexpr index_t kTags = 3;
constexpr index_t kTimes = 2;  // messages per tag

/// The content that process `from` sends to `to`: a different number and length for each message.
std::vector<index_t> message_of(index_t from, index_t to, index_t tag, index_t time) {
  return std::vector<index_t>(static_cast<std::size_t>(1 + from + tag),
                              ((from * 10 + to) * 10 + tag) * 10 + time);
}

/// All processes send all others messages with several tags, received in a different order.
void exchange_all(Communicator& processes) {
  const index_t rank = processes.rank(), size = processes.size();
  std::vector<std::vector<index_t>> sent, want, got;
  for (index_t other = 0; other < size; ++other) {
    for (index_t tag = 0; tag < kTags && other != rank; ++tag) {
      for (index_t time = 0; time < kTimes; ++time) {
        sent.push_back(message_of(rank, other, tag, time));
        want.push_back(message_of(other, rank, kTags - 1 - tag, time));
        got.emplace_back(want.back().size());
      }
    }
  }
  const index_t before = processes.bytes_sent();
  std::size_t count = 0;
  index_t bytes = 0;
  for (index_t other = 0; other < size; ++other) {
    for (index_t tag = 0; tag < kTags && other != rank; ++tag) {
      for (index_t time = 0; time < kTimes; ++time, ++count) {
        processes.send(other, tag, std::as_bytes(std::span(sent[count])));
        processes.receive(other, kTags - 1 - tag, std::as_writable_bytes(std::span(got[count])));
        bytes += std::ssize(sent[count]) * 8;
        processes.progress();
      }
    }
  }
  processes.wait();
  EXPECT_EQ(got, want) << "rank " << rank;
  EXPECT_EQ(processes.bytes_sent() - before, bytes);
}

TEST(Communicator, ThreadsSendAndGatherAsProcesses) {
  for (const Delivery delivery : kDeliveries) {
    for (const index_t size : {1, 2, 3, 7}) {
      const auto run = [&](Communicator& processes) {
        const std::string mine(static_cast<std::size_t>(processes.rank()), 'x');
        for (int round = 0; round < 3; ++round) {
          exchange_all(processes);
          const std::vector<std::string> all = processes.all_gather(mine);
          ASSERT_EQ(std::ssize(all), size);
          for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::string(i, 'x'));
        }
      };
      run_processes(size, run, {.delivery = delivery});
    }
  }
}

TEST(Communicator, ProcessesHaveGeneratorsAndThreadsOfTheirOwn) {
  const std::uint64_t before = default_rng().state().position;
  const auto run = [&](Communicator& processes) {
    manual_seed(static_cast<std::uint64_t>(processes.rank()));
    processes.all_gather("");
    EXPECT_EQ(default_rng().state().seed, static_cast<std::uint64_t>(processes.rank()));
    EXPECT_EQ(thread_count(), 3);
  };
  run_processes(3, run, {.threads = 3});
  EXPECT_EQ(default_rng().state().position, before);
}

/// The text of the E that run_processes throws; "" if nothing is thrown.
template <class E, class F>
std::string thrown(index_t size, const F& f, Delivery delivery = Delivery::kEarly) {
  try {
    run_processes(size, f, {.delivery = delivery});
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

TEST(Communicator, AProcessThatEndsEndsTheWaitsForIt) {
  for (const bool by_error : {false, true}) {
    for (const bool gathers : {false, true}) {
      std::atomic<int> lost = 0;
      const auto run = [&](Communicator& processes) {
        if (processes.rank() == 1 && by_error) throw std::out_of_range("a fault");
        if (processes.rank() == 1) return;
        index_t number = 0;
        try {
          if (!gathers) processes.receive(1, 0, std::as_writable_bytes(std::span(&number, 1)));
          if (gathers) processes.all_gather("");
          processes.wait();
        } catch (const ProcessLost& error) {
          EXPECT_TRUE(contains(std::string(error.what()), "process 1"));
          ++lost;
          throw;
        }
      };
      if (by_error) {
        EXPECT_EQ(thrown<std::out_of_range>(3, run), "a fault");
      } else {
        EXPECT_NE(thrown<ProcessLost>(3, run), "");
      }
      EXPECT_EQ(lost, 2);
    }
  }
}

TEST(Communicator, ThreadsFindMisuse) {
  // The actions of rank 0 and rank 1 with the bytes of one number.
  using Part = std::function<void(Communicator&, std::span<std::byte>)>;
  const Part sends = [](Communicator& all, std::span<std::byte> x) { all.send(1, 0, x); };
  const Part receives = [](Communicator& all, std::span<std::byte> x) { all.receive(0, 0, x); };
  const Part waits = [](Communicator& all, std::span<std::byte>) { all.wait(); };
  const auto then = [](const Part& a, const Part& b) -> Part {
    return [=](Communicator& all, std::span<std::byte> x) { a(all, x), b(all, x); };
  };
  const Part nothing = [](Communicator&, std::span<std::byte>) {};
  const Part changes = [](Communicator&, std::span<std::byte> x) { x[0] = std::byte{7}; };
  const Part half = [](Communicator& all, std::span<std::byte> x) {
    all.receive(0, 0, x.first(4));
  };
  const Part to_itself = [](Communicator& all, std::span<std::byte> x) { all.send(0, 0, x); };
  const Part to_nobody = [](Communicator& all, std::span<std::byte> x) { all.send(2, 0, x); };
  const Part no_tag = [](Communicator& all, std::span<std::byte> x) {
    all.send(1, Communicator::kMostTags, x);
  };
  struct Case {
    std::string error;
    Part first, second;
  };
  const std::vector<Case> cases = {
      {"", then(sends, waits), then(receives, waits)},
      {"did not receive", then(sends, waits), nothing},
      {"without a wait() for 1 messages sent", sends, then(receives, waits)},
      {"without a wait()", then(sends, waits), receives},
      {"changed bytes", then(sends, then(changes, waits)), then(receives, waits)},
      {"sent 8 bytes with tag 0, but process 1 receives 4", then(sends, waits), then(half, waits)},
      {"no other process 0", to_itself, nothing},
      {"no other process 2", to_nobody, nothing},
      {"tag 2097152", no_tag, nothing},
  };
  for (const Case& c : cases) {
    const auto run = [&](Communicator& processes) {
      index_t number = 5;
      const auto bytes = std::as_writable_bytes(std::span(&number, 1));
      (processes.rank() == 0 ? c.first : c.second)(processes, bytes);
    };
    const std::string text = thrown<std::invalid_argument>(2, run);
    EXPECT_TRUE(contains(text, c.error));
    EXPECT_EQ(text.empty(), c.error.empty()) << text;
  }
}

TEST(Communicator, LateMessagesAreNoiseUntilTheyAreWaitedFor) {
  const auto run = [](Communicator& processes) {
    index_t number = 5;
    const auto bytes = std::as_writable_bytes(std::span(&number, 1));
    if (processes.rank() == 0) processes.send(1, 0, bytes);
    if (processes.rank() == 1) processes.receive(0, 0, bytes);
    processes.all_gather("");
    processes.progress();
    EXPECT_EQ(number, processes.rank() == 0 ? 5 : -1);
    processes.wait();
    EXPECT_EQ(number, 5);
  };
  run_processes(2, run, {.delivery = Delivery::kLate});
}

TEST(Communicator, OneProcessIsTheTrivialCase) {
  OneProcess one;
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(one.all_gather("mine"), std::vector<std::string>{"mine"});
  one.progress();
  one.wait();
  EXPECT_EQ(one.bytes_sent(), 0);
  EXPECT_TRUE(throws("OneProcess", {"got 1"}, [&] { one.send(1, 0, {}); }));
  EXPECT_TRUE(throws("OneProcess", {"got 1"}, [&] { one.receive(1, 0, {}); }));
}

TEST(Communicator, SharesAreOfRanksThatExist) {
  EXPECT_TRUE(throws("share_of", {"[0, 0)", "got 0"}, [] { share_of(10, 0, 0); }));
  EXPECT_TRUE(throws("share_of", {"[0, 2)", "got 2"}, [] { share_of(10, 2, 2); }));
  EXPECT_TRUE(throws("share_of", {"[0, 2)", "got -1"}, [] { share_of(10, -1, 2); }));
}

TEST(Communicator, SharesAreOneAfterAnotherAndOfOneLength) {
  for (const index_t size : {1, 2, 3, 4, 7}) {
    const auto run = [&](Communicator& processes) {
      for (const index_t count : {index_t{0}, index_t{1}, index_t{5}, index_t{7}, index_t{100},
                                  std::numeric_limits<index_t>::max()}) {
        const Share mine = share_of(count, processes);
        EXPECT_GE(mine.end - mine.begin, count / size);
        EXPECT_LE(mine.end - mine.begin, count / size + (count % size > 0 ? 1 : 0));
        const std::vector<std::string> ends = processes.all_gather(std::to_string(mine.end));
        const auto before = static_cast<std::size_t>(processes.rank()) - 1;
        EXPECT_EQ(std::to_string(mine.begin), processes.rank() == 0 ? "0" : ends[before]);
        EXPECT_EQ(ends.back(), std::to_string(count));
        if (count < 1000) {
          EXPECT_EQ(mine.begin, count * processes.rank() / size);
        }
      }
    };
    run_processes(size, run);
  }
}

// ---- agreement ----

/// The error of three processes, which each give the facts of their rank: the same in all.
std::string disagreement(const std::vector<NamedTexts>& facts) {
  std::vector<std::string> texts(facts.size());
  run_processes(std::ssize(facts), [&](Communicator& processes) {
    const auto rank = static_cast<std::size_t>(processes.rank());
    try {
      require_agreement(processes, "Op", facts[rank]);
    } catch (const std::invalid_argument& error) {
      texts[rank] = error.what();
    }
  });
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
  return texts[0];
}

TEST(Communicator, DisagreementNamesRanksNameAndTexts) {
  const NamedTexts usual = {{"seed", "5"}, {"file:2", "a:b\n"}, {"last", ""}};
  NamedTexts other_seed = usual, other_name = usual, fewer = usual, more = usual, lists = usual,
             bare = usual;
  other_seed[0].second = "6";
  other_name[1].first = "files";
  fewer.pop_back();
  more.emplace_back("more", "x");
  lists[1].second = std::string(500, 'y');
  bare[0].second = "";
  struct Case {
    std::vector<NamedTexts> facts;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{usual, usual, usual}, ""},
      {{{}, {}, {}}, ""},
      {{usual, usual, other_seed},
       "Op: seed must be the same on all ranks, got '5' on rank 0 and '6' on rank 2"},
      {{other_seed, usual, usual},
       "Op: seed must be the same on all ranks, got '6' on rank 0 and '5' on rank 1"},
      {{usual, bare, usual},
       "Op: seed must be the same on all ranks, got '5' on rank 0 and nothing on rank 1"},
      {{usual, other_name, usual},
       "Op: all ranks must run the same program, got 'file:2' on rank 0 and 'files' on rank 1"},
      {{usual, usual, more},
       "Op: all ranks must run the same program, got nothing on rank 0 and 'more' on rank 2"},
      {{usual, fewer, usual},
       "Op: all ranks must run the same program, got 'last' on rank 0 and nothing on rank 1"},
      {{lists, usual, usual}, std::string(80, 'y') + "...' on rank 0"},
  };
  for (const Case& c : cases) {
    const std::string text = disagreement(c.facts);
    if (c.error.starts_with("Op") || c.error.empty()) {
      EXPECT_EQ(text, c.error);
    } else {
      EXPECT_TRUE(contains(text, c.error));
    }
  }
}

// ---- chunks ----

TEST(Chunks, CoverEachParameterInOrderAndAreOwnedInBalance) {
  const std::vector<index_t> counts = {5,
                                       0,
                                       kChunkElements,
                                       kChunkElements + 1,
                                       7 * kChunkElements - 3,
                                       1,
                                       300,
                                       2 * kChunkElements,
                                       40000};
  const std::vector<Chunk> alone = cut_into_chunks(counts, 1);
  for (const index_t processes : {1, 2, 3, 4, 7, 100}) {
    const std::vector<Chunk> chunks = cut_into_chunks(counts, processes);
    std::vector<index_t> owned(static_cast<std::size_t>(processes)), covered(counts.size());
    ASSERT_EQ(chunks.size(), alone.size());
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const Chunk& chunk = chunks[i];
      EXPECT_EQ((Chunk{chunk.parameter, chunk.begin, chunk.count, 0}), alone[i])
          << "where it is cut depends on the processes";
      if (i > 0) {
        EXPECT_GE(chunk.parameter, chunks[i - 1].parameter);
      }
      EXPECT_GE(chunk.count, 1);
      EXPECT_LE(chunk.count, kChunkElements);
      const auto parameter = static_cast<std::size_t>(chunk.parameter);
      EXPECT_EQ(chunk.begin, covered[parameter]);
      covered[parameter] += chunk.count;
      const auto least = std::ranges::min_element(owned);
      EXPECT_EQ(chunk.owner, least - owned.begin());
      *least += chunk.count;
    }
    EXPECT_EQ(covered, counts);
    const auto [least, most] = std::ranges::minmax(owned);
    EXPECT_LE(most - least, kChunkElements);
  }
  EXPECT_TRUE(cut_into_chunks({}, 3).empty());
}

/// Sets the launchers' variables to only the given ones, and restores the old ones at the end.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                             "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS"}) {
      const char* const value = std::getenv(name);
      before_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
    for (const auto& [name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : before_) {
      if (value) setenv(name.c_str(), value->c_str(), 1);
      if (!value) unsetenv(name.c_str());
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(LaunchTest, CountsTheProcessesThatALauncherStarted) {
  struct Case {
    std::map<std::string, std::string> variables;
    index_t processes;
  };
  const std::vector<Case> cases = {
      {{}, 1},
      {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 4},
      {{{"PMI_SIZE", "3"}}, 3},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "7"}}, 8},
      // A batch script, and an interactive shell: Slurm's own steps.
      {{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "4294967291"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "0"}}, 1},
      // mpirun has started its daemons by srun, one on each of two hosts.
      {{{"OMPI_COMM_WORLD_SIZE", "4"},
        {"SLURM_STEP_NUM_TASKS", "2"},
        {"SLURM_STEP_ID", "0"},
        {"SLURM_PROCID", "1"}},
       4},
      {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "2"}}, 1},
      // No numbers of processes.
      {{{"PMI_SIZE", ""}}, 1},
      {{{"PMI_SIZE", "0"}}, 1},
      {{{"PMI_SIZE", "-3"}}, 1},
      {{{"PMI_SIZE", "3x"}}, 1},
      {{{"PMI_SIZE", "99999999999999999999"}}, 1},
      {{{"OMPI_COMM_WORLD_SIZE", "four"}}, 1},
  };
  for (const Case& c : cases) {
    const Variables variables(c.variables);
    std::string shown;
    for (const auto& [name, value] : c.variables) shown += name + "=" + value + " ";
    EXPECT_EQ(launched_processes(), c.processes) << shown;
  }
}

}  // namespace
}  // namespace tessera::nn
