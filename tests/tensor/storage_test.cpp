#include "tessera/tensor/storage.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"
#include "tests/support/fails.h"

namespace tessera {
namespace {

using namespace test;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

TEST(StorageTest, IsAlignedAndWritable) {
  for (const index_t bytes : {0, 1, 63, 64, 65, 1000, 4096, 100000}) {
    const Storage storage = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(storage.data()) % 64, 0U) << bytes;
    std::fill_n(storage.data(), bytes, std::byte{0xAB});
  }
}

TEST(StorageTest, HandlesShareTheBlock) {
  Storage a = Storage::allocate(100);
  const Storage b = a;
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.data(), b.data());
  const Storage c = std::move(a);
  EXPECT_FALSE(static_cast<bool>(a));
  EXPECT_TRUE(c == b);
  a = b;
  EXPECT_TRUE(a == c);
  a = Storage();
  EXPECT_FALSE(static_cast<bool>(a));
  EXPECT_TRUE(static_cast<bool>(b));
  EXPECT_FALSE(Storage::allocate(100) == b);
}

TEST(StorageTest, RefusesImpossibleSizes) {
  EXPECT_THROW(Storage::allocate(-1), std::bad_alloc);
  EXPECT_THROW(Storage::allocate((index_t{1} << 62) + 1), std::bad_alloc);
  EXPECT_THROW(Storage::allocate(machine_memory() + 1), std::bad_alloc);
}

TEST(StorageTest, NoBlockHasNoContents) {
  const Storage none;
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { none.data(); }, [&] { none.version(); }, [&] { none.bump_version(); }}) {
    try {
      read();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("tensor must be defined"), std::string::npos);
    }
  }
}

TEST(StorageTest, ATensorFitsIntoIt) {
  const auto memory = std::make_shared<std::vector<std::byte>>(100);
  const Storage borrowed = Storage::borrow(std::shared_ptr<void>(memory, memory->data()), 100);
  EXPECT_EQ(borrowed.size(), 100);
  EXPECT_EQ(Tensor::of_storage(borrowed, {5, 5}, kFloat32).count(), 25);
  EXPECT_GE(Storage::allocate(100).size(), 100);
  fails("of_storage", {"room for shape (26,) of float32", "got 100 bytes"},
        [&] { Tensor::of_storage(borrowed, {26}, kFloat32); });
  fails("of_storage", "got 100 bytes",
        [&] { Tensor::of_storage(borrowed, {index_t{1} << 61}, kFloat64); });
  fails("storage", "tensor must be defined", [&] { Tensor::of_storage(Storage(), {0}, kFloat32); });
}

TEST(StorageTest, BorrowsMemoryUntilTheLastHandleGoes) {
  const auto memory = std::make_shared<std::vector<std::byte>>(100);
  const MemoryStats before = memory_stats();
  Storage a = Storage::borrow({memory, memory->data() + 4}, 90);
  EXPECT_EQ(memory_stats().in_use, before.in_use);
  EXPECT_EQ(memory_stats().borrowed, before.borrowed + 90);
  EXPECT_EQ(a.data(), memory->data() + 4);
  EXPECT_TRUE(a.is_unique());
  const std::uint64_t version = a.version();
  a.bump_version();
  EXPECT_EQ(a.version(), version + 1);
  Storage b = a;
  a = Storage();
  EXPECT_EQ(memory.use_count(), 2);
  b = Storage();
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_EQ(memory_stats().borrowed, before.borrowed);
  EXPECT_EQ(memory_stats().cached, before.cached) << "not recycled";
  EXPECT_THROW(Storage::borrow(nullptr, 1), std::invalid_argument);
}

TEST(StorageTest, NoVersionIsSeenTwice) {
  // Code that stores the address of a block must not take the next block at this address for it.
  const auto memory = std::make_shared<std::byte>();
  std::set<std::uint64_t> versions;
  for (int i = 0; i < 100; ++i) {
    const Storage borrowed = Storage::borrow(memory, 1);
    borrowed.bump_version();
    EXPECT_TRUE(versions.insert(borrowed.version()).second);
  }
}

TEST(StorageTest, RecyclesByRoundedSize) {
  const std::byte* address = nullptr;
  {
    const Storage first = Storage::allocate(1200000);
    address = first.data();
  }
  const auto before = memory_stats().system_allocations;
  const Storage again = Storage::allocate(1190000);
  const auto requests = memory_stats().system_allocations - before;
  if (kRecycles) {
    EXPECT_EQ(again.data(), address);
    EXPECT_EQ(requests, 0);
  } else {
    EXPECT_EQ(requests, 1);
  }
}

TEST(StorageTest, ALargeBlockServesSmallerRequestsDownToHalfItsSize) {
  // Batches of shorter and shorter texts would otherwise leave a set of blocks for each length.
  release_cached_memory();
  const Storage large = Storage::allocate(50 << 20);  // so that the cache may hold what follows
  { const Storage first = Storage::allocate(8 << 20); }
  const auto before = memory_stats().system_allocations;
  { const Storage less = Storage::allocate(5 << 20); }
  EXPECT_EQ(memory_stats().system_allocations - before, kRecycles ? 0 : 1);
  { const Storage little = Storage::allocate(3 << 20); }
  EXPECT_EQ(memory_stats().system_allocations - before, kRecycles ? 1 : 2);
  // Small blocks are reused only for their own size.
  { const Storage small = Storage::allocate(8 << 10); }
  { const Storage smaller = Storage::allocate(5 << 10); }
  EXPECT_EQ(memory_stats().system_allocations - before, kRecycles ? 3 : 4);
}

TEST(StorageTest, NeverServesABlockThatIsTooSmall) {
  // Request every size near each class's boundaries, smallest first, so that freed smaller blocks
  // wait in the lists; the sanitizer and the fill detect a block that is too short.
  for (index_t bytes = 1; bytes < 40000; bytes += bytes / 37 + 1) {
    { const Storage freed = Storage::allocate(bytes); }
    const auto before = memory_stats().in_use;
    const Storage storage = Storage::allocate(bytes + 1);
    ASSERT_GE(memory_stats().in_use - before, bytes + 1 + 64);
    ASSERT_LE(memory_stats().in_use - before, (bytes + 1 + 64) * 5 / 4 + 256);
    std::fill_n(storage.data(), bytes + 1, std::byte{1});
  }
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
/// In a forked process that may use 3 GB of addresses.
[[noreturn]] void allocate_two_sizes_in_3_gigabytes() {
  constexpr index_t kGigabyte = index_t{1} << 30;
  release_cached_memory();
  const rlimit limit = {3 * kGigabyte, 3 * kGigabyte};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::exit(1);
  Storage::allocate(3 * kGigabyte / 2);
  Storage::allocate(2 * kGigabyte);
  std::exit(0);
}

TEST(StorageDeathTest, WaitingBlocksGoBeforeMemoryRunsOut) {
  EXPECT_EXIT(allocate_two_sizes_in_3_gigabytes(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(StorageTest, CountsWhatItHolds) {
  release_cached_memory();
  const MemoryStats before = memory_stats();
  EXPECT_EQ(before.cached, 0);
  {
    const Storage storage = Storage::allocate(1 << 16);
    EXPECT_GE(memory_stats().in_use, before.in_use + (1 << 16));
  }
  EXPECT_EQ(memory_stats().in_use, before.in_use);
  EXPECT_EQ(memory_stats().cached > 0, kRecycles);
  release_cached_memory();
  EXPECT_EQ(memory_stats().cached, 0);
}

TEST(StorageTest, StaysBelowTwiceItsPeak) {
  release_cached_memory();
  // The peak of the process so far is unknown; this one is above it.
  const index_t before = memory_stats().in_use;
  const index_t peak = before + (100 << 20);
  { const Storage large = Storage::allocate(100 << 20); }
  for (index_t bytes = 60 << 20; bytes < 100 << 20; bytes += 10 << 20) {
    const Storage storage = Storage::allocate(bytes);  // each in a different size class
    EXPECT_LE(memory_stats().in_use + memory_stats().cached, 2 * peak * 5 / 4);
  }
  EXPECT_LE(memory_stats().cached, 2 * peak * 5 / 4);
  release_cached_memory();
}

TEST(StorageTest, ServesTwoSizesInTurnFromTheCache) {
  release_cached_memory();
  const auto use_both = [] {
    { const Storage a = Storage::allocate(50 << 20); }
    { const Storage b = Storage::allocate(70 << 20); }
  };
  use_both();
  const auto before = memory_stats().system_allocations;
  for (int round = 0; round < 10; ++round) use_both();
  EXPECT_EQ(memory_stats().system_allocations - before, kRecycles ? 0 : 20);
  release_cached_memory();
}

TEST(StorageTest, AVersionNeverComesBackAtItsAddress) {
  std::set<std::pair<const std::byte*, std::uint64_t>> seen;
  for (int round = 0; round < 20; ++round) {
    const Storage storage = Storage::allocate(5000);
    EXPECT_TRUE(seen.emplace(storage.data(), storage.version()).second);
    storage.bump_version();
    EXPECT_TRUE(seen.emplace(storage.data(), storage.version()).second);
    if (round % 5 == 4) release_cached_memory();
  }
}

TEST(StorageTest, HandlesMayBeUsedOnAnyThread) {
  const Storage shared = Storage::allocate(1000);
  const auto in_use = memory_stats().in_use;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&shared, i] {
      std::vector<Storage> mine;
      for (index_t round = 0; round < 2000; ++round) {
        mine.push_back(round % 3 == 0 ? shared : Storage::allocate(100 * (round % 7 + i + 1)));
        if (mine.size() > 10) mine.erase(mine.begin());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(memory_stats().in_use, in_use);
}

TEST(StorageTest, AChildOfForkMayAllocate) {
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) Storage::allocate(100);
  });
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      Storage::allocate(100);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  stop = true;
  worker.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tessera
