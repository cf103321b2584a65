#include "tessera/tensor/kernels/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class ParallelTest : public ::testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

/// Whether the library was built with OpenMP: without it there is one thread, for any requested
/// number.
bool has_threads() {
  set_thread_count(2);
  const bool result = thread_count() == 2;
  set_thread_count(0);
  return result;
}

TEST_F(ParallelTest, TheCountCanBeSetAndReset) {
  const int initial = thread_count();
  EXPECT_GE(initial, 1);
  const int seven = has_threads() ? 7 : 1;
  set_thread_count(7);
  EXPECT_EQ(thread_count(), seven);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), initial);
  set_thread_count(-5);
  EXPECT_EQ(thread_count(), initial);
}

TEST_F(ParallelTest, TheCountBelongsToTheCallingThread) {
  set_thread_count(5);
  const int initial = [] {
    int count = 0;
    std::thread([&] { count = thread_count(); }).join();
    return count;
  }();
  set_thread_count(0);
  EXPECT_EQ(initial, thread_count());
}

TEST_F(ParallelTest, ForCoversEveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    for (index_t count : {0, 1, 2, 3, 100, 32767, 65536, 100003}) {
      for (index_t cost : {0, 1, 1000, 1000000}) {
        std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
        std::atomic<int> pieces = 0;
        kernels::parallel_for(count, cost, [&](index_t begin, index_t end) {
          EXPECT_LT(begin, end);
          ++pieces;
          for (index_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
        });
        EXPECT_LE(pieces, threads);
        for (const auto& hit : hits) ASSERT_EQ(hit, 1) << count << " indices of cost " << cost;
      }
    }
  }
}

TEST_F(ParallelTest, SmallWorkStaysInTheCallingThread) {
  set_thread_count(4);
  const auto caller = std::this_thread::get_id();
  const auto check = [&](index_t, index_t) { EXPECT_EQ(std::this_thread::get_id(), caller); };
  kernels::parallel_for(1000, 10, check);
  kernels::parallel_for(1, 1 << 30, check);
  EXPECT_EQ(kernels::worker_count(10, 1000), 1);
  EXPECT_EQ(kernels::worker_count(1, 1 << 30), 1);
  EXPECT_EQ(kernels::worker_count(0, 1 << 30), 1);
  kernels::parallel_tasks(10, 1, [&](index_t task, index_t worker) { check(task, worker); });
}

TEST_F(ParallelTest, LargeWorkIsSpread) {
  const int four = has_threads() ? 4 : 1;
  set_thread_count(4);
  std::atomic<int> pieces = 0;
  kernels::parallel_for(1 << 20, 1, [&](index_t, index_t) { ++pieces; });
  EXPECT_EQ(pieces, four);
  EXPECT_EQ(kernels::worker_count(100, 1 << 30), four);
  EXPECT_EQ(kernels::worker_count(3, 1 << 30), std::min(3, four));
}

TEST_F(ParallelTest, PiecesGrowOneByOneWithTheWork) {
  const int four = has_threads() ? 4 : 1;
  set_thread_count(4);
  for (index_t cost : {1, 100, 10000}) {  // the same work, with cheap and expensive indices
    int before = 1;
    for (index_t work = 2 * cost; work < 6 * kernels::kParallelGrain; work += 2048) {
      std::atomic<int> pieces = 0;
      const index_t count = work / cost;
      kernels::parallel_for(count, cost, [&](index_t begin, index_t end) {
        ++pieces;
        EXPECT_TRUE(end - begin == count || (end - begin) * cost > kernels::kParallelGrain / 2)
            << "a piece of " << end - begin << " indices is not worth a thread";
      });
      EXPECT_GE(pieces, before) << count << " indices of cost " << cost;
      EXPECT_LE(pieces, before + 1) << count << " indices of cost " << cost;
      before = pieces;
    }
    EXPECT_EQ(before, four);
  }
}

TEST_F(ParallelTest, TasksRunOnceEachAndWorkersOneAtATime) {
  for (index_t workers : {1, 2, 3, 8}) {
    for (index_t tasks : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(tasks));
      std::vector<std::atomic<int>> busy(static_cast<std::size_t>(workers));
      kernels::parallel_tasks(tasks, workers, [&](index_t task, index_t worker) {
        // A worker's scratch memory is its own while it has a task.
        EXPECT_EQ(busy.at(static_cast<std::size_t>(worker))++, 0);
        ++hits[static_cast<std::size_t>(task)];
        --busy[static_cast<std::size_t>(worker)];
      });
      for (const auto& hit : hits) ASSERT_EQ(hit, 1);
    }
  }
}

TEST_F(ParallelTest, InsideARegionWorkIsSerial) {
  set_thread_count(4);
  std::atomic<int> regions = 0;
  kernels::parallel_for(1 << 20, 1, [&](index_t, index_t) {
    EXPECT_EQ(thread_count(), 1);
    int inner = 0;  // not atomic: a parallel inner loop would be counted wrongly
    kernels::parallel_for(1 << 20, 1, [&](index_t, index_t) { ++inner; });
    EXPECT_EQ(inner, 1);
    kernels::parallel_tasks(4, 4, [&](index_t, index_t worker) { EXPECT_EQ(worker, 0); });
    ++regions;
  });
  EXPECT_GE(regions, 1);
}

TEST_F(ParallelTest, SeveralThreadsMayRunRegionsAtOnce) {
  std::vector<index_t> sums(4);
  std::vector<std::thread> threads;
  for (index_t& sum : sums) {
    threads.emplace_back([&sum] {
      std::atomic<index_t> total = 0;
      kernels::parallel_for(1 << 20, 1, [&](index_t begin, index_t end) { total += end - begin; });
      sum = total;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<index_t>(4, 1 << 20));
}

TEST_F(ParallelTest, TheDefaultCoversEveryIndexOnceWhateverTheGovernorSays) {
  set_thread_count(0);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<std::atomic<int>> hits(1 << 17);
    kernels::parallel_for(1 << 17, 1, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
    });
    for (const auto& hit : hits) ASSERT_EQ(hit, 1);
  }
}

TEST_F(ParallelTest, TasksOfAThreadThatIsHeldUpAreDoneByOthers) {
  if (!has_threads()) GTEST_SKIP() << "built without OpenMP";
  set_thread_count(2);
  std::atomic<int> done = 0;
  kernels::parallel_tasks(10, 2, [&](index_t task, index_t) {
    // The first task ends only after all others: no task may wait for its thread.
    while (task == 0 && done < 9) std::this_thread::yield();
    ++done;
  });
  EXPECT_EQ(done, 10);
}

/// Run once more with an address space that 300 threads do not fit into (CMakeLists.txt).
TEST_F(ParallelTest, ManyThreadsDoEveryTaskOnceAndLeaveMemory) {
  set_thread_count(300);
  std::vector<std::atomic<int>> done(1000);
  for (int repeat = 0; repeat < 2; ++repeat) {
    kernels::parallel_tasks(1000, 300,
                            [&](index_t task, index_t) { ++done[static_cast<std::size_t>(task)]; });
  }
  for (const std::atomic<int>& count : done) EXPECT_EQ(count, 2);
  const std::vector<char> memory(std::size_t{50} << 20, 'x');
  EXPECT_EQ(memory.back(), 'x');
}

/// Two tasks on two threads; the second seems to lose its processor for 50 ms.
void run_region_that_loses() {
  std::atomic<bool> has_begun = false;
  kernels::parallel_tasks(2, 2, [&](index_t task, index_t) {
    if (task == 0) {
      while (!has_begun) std::this_thread::yield();  // otherwise the caller would take both
    } else {
      has_begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
}

TEST_F(ParallelTest, GoesOnAloneAfterARegionThatLost) {
  if (!has_threads()) GTEST_SKIP() << "built without OpenMP";
  if (thread_count() < 2) GTEST_SKIP() << "one processor";
  std::thread([] {  // its governor has no history
    run_region_that_loses();
    const auto caller = std::this_thread::get_id();
    for (const int limit : {0, 2}) {
      set_thread_limit(limit);
      kernels::parallel_tasks(2, 2, [&](index_t, index_t worker) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        EXPECT_EQ(worker, 0);
      });
    }
    EXPECT_EQ(thread_count(), 2);
    set_thread_count(2);  // a given number is used after any loss
    run_region_that_loses();
  })
      .join();
}

#if defined(__linux__)
TEST_F(ParallelTest, AChildOfForkGoesOnAlone) {
  set_thread_count(2);
  const auto sum = [] {
    std::atomic<index_t> total = 0;
    kernels::parallel_for(1 << 20, 1, [&](index_t begin, index_t end) { total += end - begin; });
    return total.load();
  };
  ASSERT_EQ(sum(), 1 << 20);  // the parent has a team, which the child lacks
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // ends a child that waits for threads
    const bool right = sum() == 1 << 20 && thread_count() == 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(sum(), 1 << 20) << "and the parent goes on with its threads";
}
#endif

}  // namespace
}  // namespace tessera
