// Run by mpirun on several processes, and once as one process. All processes make the same calls,
// even after failures: a test that returned early would make the others wait.
#include <signal.h>
#include <cstdlib>

#include "nn/training/communicator.h"
#include "nn/training/mpi/detail/place.h"
#include "nn/training/mpi/session.h"
#include "tensor/kernels/parallel.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

/// The program's session lives as long as its tests.
class TheSession final : public ::testing::Environment {
 public:
  void SetUp() override { session = std::make_unique<mpi::Session>(); }
  void TearDown() override { session.reset(); }
  static inline std::unique_ptr<mpi::Session> session;
};
[[maybe_unused]] const ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new TheSession);

nn::Communicator& processes() {
  return TheSession::session->communicator();
}

TEST(MpiTest, AllThatWereStartedAreThere) {
  const nn::Communicator& all = processes();
  EXPECT_EQ(all.size(), nn::launched_processes());
  EXPECT_LT(all.rank(), all.size());
}

/// Message `number` from process `from` to `to` with that tag.
std::vector<std::byte> message(index_t from, index_t to, index_t tag, index_t number,
                               std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto place = static_cast<index_t>(i);
    bytes[i] = static_cast<std::byte>((from * 31 + to * 17 + tag * 7 + number * 3 + place) % 251);
  }
  return bytes;
}

TEST(MpiTest, MessagesOfAllSizesFindTheirTags) {
  nn::Communicator& all = processes();
  if (all.size() == 1) return;
  const std::vector<std::size_t> sizes = {0, 1, 7, 4095, 262145};
  const std::vector<index_t> tags = {0, 1, 500, nn::Communicator::kMostTags - 1};
  struct Received {
    std::vector<std::byte> bytes, wanted;
  };
  std::vector<Received> received;
  std::vector<std::vector<std::byte>> sent;
  received.reserve(1000);
  sent.reserve(1000);

  // The receiver uses the tags in reverse order; messages with one tag arrive in the order of
  // sending.
  const index_t sent_before = all.bytes_sent();
  for (std::size_t t = tags.size(); t-- > 0;) {
    for (index_t from = 0; from < all.size(); ++from) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto number = static_cast<index_t>(i);
        received.push_back({std::vector<std::byte>(sizes[i]),
                            message(from, all.rank(), tags[t], number, sizes[i])});
        all.receive(from, tags[t], received.back().bytes);
      }
    }
    all.progress();
  }
  index_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (index_t to = all.size(); to-- > 0;) {
      for (const index_t tag : tags) {
        sent.push_back(message(all.rank(), to, tag, static_cast<index_t>(i), sizes[i]));
        all.send(to, tag, sent.back());
        total += static_cast<index_t>(sizes[i]);
      }
      all.progress();
    }
  }
  // A collective call while these messages are in progress.
  EXPECT_EQ(all.all_gather("x").size(), static_cast<std::size_t>(all.size()));
  all.wait();
  for (const Received& r : received) EXPECT_TRUE(r.bytes == r.wanted) << r.wanted.size();
  EXPECT_EQ(all.bytes_sent() - sent_before, total);
}

TEST(MpiTest, GathersTextsOfOtherLengthsByRank) {
  nn::Communicator& all = processes();
  for (const std::size_t unit : {0U, 1U, 1000U, 300000U}) {
    const auto text_of = [&](index_t rank) {
      return std::string(unit * static_cast<std::size_t>((rank + 1) % 3),
                         static_cast<char>('a' + rank));
    };
    const std::vector<std::string> texts = all.all_gather(text_of(all.rank()));
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(all.size()));
    for (index_t rank = 0; rank < all.size(); ++rank) {
      EXPECT_TRUE(texts[static_cast<std::size_t>(rank)] == text_of(rank)) << rank << " " << unit;
    }
  }
}

TEST(MpiTest, MistakesAreRefused) {
  nn::Communicator& all = processes();
  std::byte bytes[4] = {};
  if (all.size() == 1) {
    EXPECT_TRUE(test::throws("OneProcess", {"rank must be that of a different process"},
                             [&] { all.send(0, 0, bytes); }));
    return;
  }
  EXPECT_TRUE(test::throws("send", {"process "}, [&] { all.send(all.size(), 0, bytes); }));
  EXPECT_TRUE(test::throws("send", {"tag -1"}, [&] { all.send(0, -1, bytes); }));
  EXPECT_TRUE(test::throws("receive", {"process -1"}, [&] { all.receive(-1, 0, bytes); }));
  const auto most = static_cast<std::size_t>(1) << 31;
  EXPECT_TRUE(test::throws("send", {"2147483648 bytes"},
                           [&] { all.send(0, 0, std::span<const std::byte>(bytes, most)); }));

  // A message must have the length that the receiver expects.
  std::byte longer[6];
  all.receive(all.rank(), 3, longer);
  all.send(all.rank(), 3, bytes);
  EXPECT_THROW(all.wait(), std::runtime_error);
  all.wait();
}

TEST(MpiTest, ASecondSessionUsesTheSameMpi) {
  for (int round = 0; round < 2; ++round) {
    mpi::Session second;
    EXPECT_EQ(second.communicator().size(), processes().size());
    EXPECT_EQ(second.communicator().all_gather("a"), processes().all_gather("a"));
  }
  // The first session still delays SIGTERM.
  struct sigaction action = {};
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler != SIG_DFL, processes().size() > 1);
}

TEST(MpiTest, ASessionKnowsItsThreads) {
  const int mine = TheSession::session->threads();
  EXPECT_GE(mine, 1);
  EXPECT_LE(mine, thread_count());
  // All run on this host, and mpirun binds none of them to a core.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    EXPECT_LE(mine * processes().size(), std::max<index_t>(thread_count(), processes().size()));
  }
}

TEST(MpiTest, TrainsToTheBitsOfOneProcess) {
  nn::TrainerOptions options = test::Trial::options();
  options.shards = 5;
  test::Trial alone(options, true);
  alone.trainer.run();

  options.communicator = &processes();
  test::Trial together(options, true);
  together.trainer.run();
  const nn::Checkpoint state = together.trainer.state();
  if (processes().rank() == 0) {
    EXPECT_TRUE(test::same_state(state, alone.trainer.state()));
  }
  const auto weights = nn::state_dict(together.net), wanted = nn::state_dict(alone.net);
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(test::same_bits(weights.at(name).detach(), tensor.detach())) << name;
  }
}

mpi::Place place(const std::string& host, std::vector<int> cpus) {
  mpi::Place result;
  result.host = host;
  result.cpus = std::move(cpus);
  return result;
}

TEST(PlaceTest, CoresAreSharedByTheProcessesThatMayRunOnThem) {
  struct Case {
    std::vector<mpi::Place> places;
    int alone, share;  // for the first process
  };
  const std::vector<int> four = {0, 1, 2, 3};
  const std::vector<Case> cases = {
      {{place("a", four)}, 4, 4},
      {{place("a", four), place("a", four)}, 4, 2},
      {{place("a", four), place("a", four), place("a", four)}, 4, 1},
      {{place("a", {0, 1, 2}), place("a", {0, 1, 2}), place("a", {0, 1, 2})}, 3, 1},
      {{place("a", four), place("b", four)}, 4, 4},                 // different hosts
      {{place("a", {0, 1}), place("a", {2, 3})}, 2, 2},             // bound by the launcher
      {{place("a", four), place("a", {2, 3})}, 4, 3},               // two halves
      {{place("a", {5}), place("a", {5}), place("a", {5})}, 1, 1},  // more than cores
      {{place("a", four), place("a", four)}, 2, 1},                 // a quota of two
      {{place("a", {}), place("a", {})}, 6, 3},                     // unknown
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(mpi::fair_share(cases[i].places, 0, cases[i].alone), cases[i].share) << i;
  }
}

TEST(PlaceTest, TravelsAsText) {
  const mpi::Place mine = mpi::this_place();
  const mpi::Place read = mpi::place_from_text(mpi::to_text(mine));
  EXPECT_EQ(read.host, mine.host);
  EXPECT_EQ(read.ids, mine.ids);
  EXPECT_EQ(read.id, mine.id);
  EXPECT_EQ(read.start, mine.start);
  EXPECT_EQ(read.cpus, mine.cpus);
}

TEST(PlaceTest, AProcessThatHasEndedIsNoticed) {
  mpi::Place mine = mpi::this_place();
  EXPECT_FALSE(mpi::has_ended(mine));
  mine.start += "0";  // an earlier process that had the same id
  EXPECT_TRUE(mpi::has_ended(mine));
  mine.id = 1 << 30;
  EXPECT_TRUE(mpi::has_ended(mine));
}

}  // namespace
}  // namespace tessera
