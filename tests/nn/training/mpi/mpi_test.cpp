// Run by mpirun on several processes, and once as one process. All processes make the same calls,
// even after failures: a test that returned early would make the others wait.
#include <cstdlib>

#include "tessera/nn/training/communicator.h"
#include "tessera/nn/training/mpi/session.h"
#include "tessera/tensor/kernels/parallel.h"
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

TEST(MpiTest, TextsOfAllLengthsArriveByRank) {
  nn::Communicator& all = processes();
  for (const std::size_t unit : {0U, 1U, 1000U, 300000U}) {
    const auto text = [&](index_t from, index_t to) {
      return std::string(unit * static_cast<std::size_t>((from + 2 * to) % 3),
                         static_cast<char>('a' + 5 * from + to));
    };
    std::vector<std::string> mine, want, everybody;
    for (index_t other = 0; other < all.size(); ++other) {
      mine.push_back(text(all.rank(), other));
      want.push_back(text(other, all.rank()));
      everybody.push_back(text(other, 1));
    }
    EXPECT_TRUE(all.all_to_all(std::vector<std::string_view>(mine.begin(), mine.end())) == want);
    EXPECT_TRUE(all.all_gather(text(all.rank(), 1)) == everybody);
  }
}

TEST(MpiTest, AWrongNumberOfTextsIsRefused) {
  EXPECT_TRUE(
      test::throws("all_to_all", {"parts must be ", "got 0"}, [] { processes().all_to_all({}); }));
}

TEST(MpiTest, ASecondSessionUsesTheSameMpi) {
  for (int round = 0; round < 2; ++round) {
    mpi::Session second;
    EXPECT_EQ(second.communicator().size(), processes().size());
    EXPECT_EQ(second.communicator().all_gather("a"), processes().all_gather("a"));
  }
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
  alone.trainer.train();

  options.communicator = &processes();
  test::Trial together(options, true);
  together.trainer.train();
  EXPECT_TRUE(test::same_state(together.trainer.state(), alone.trainer.state()));
}

}  // namespace
}  // namespace tessera
