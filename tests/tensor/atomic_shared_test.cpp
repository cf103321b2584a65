#include "tessera/tensor/atomic_shared.h"

#include <atomic>
#include <thread>
#include "tests/support/test.h"

namespace tessera {
namespace {

TEST(AtomicShared, ThreadsLoadWhatAThreadHasStored) {
  using Pair = std::pair<int, int>;
  AtomicShared<const Pair> shared;
  EXPECT_EQ(shared.load(), nullptr);
  std::atomic<int> broken = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        shared.store(std::make_shared<const Pair>(t * 10000 + i, t * 10000 + i));
        const auto pair = shared.load();
        if (!pair || pair->first != pair->second) ++broken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(shared.load().use_count(), 2);
  shared.store(nullptr);
  EXPECT_EQ(shared.load(), nullptr);
}

}  // namespace
}  // namespace tessera
