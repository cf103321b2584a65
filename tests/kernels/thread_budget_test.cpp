// The default of thread_count, which a process determines once: a separate program, which ctest
// runs with several values of OMP_NUM_THREADS.
#include <sched.h>

#include <cstdlib>
#include <fstream>

#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

/// The number of processors that the cgroup's quota allows; infinity without one.
double quota() {
  double used = 0;
  double period = 0;
  if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2) {
    v2 >> used >> period;  // "max 100000" leaves 0
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> used;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  if (used <= 0 || period <= 0) return std::numeric_limits<double>::infinity();
  return std::ceil(used / period);
}

/// Restricts this thread to one of the processors that it may use.
void keep_one_processor() {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

TEST(ThreadBudget, IsTheEnvironmentsOrTheAffinitysAndAtMostTheQuota) {
  keep_one_processor();
  const char* asked = std::getenv("OMP_NUM_THREADS");
  // "3,2" requests 3; "0" requests nothing.
  const int from_environment = asked != nullptr ? std::atoi(asked) : 0;
  const double want = std::min<double>(from_environment > 0 ? from_environment : 1, quota());
  EXPECT_EQ(thread_count(), TESSERA_HAS_THREADS ? want : 1) << (asked != nullptr ? asked : "unset");
}

}  // namespace
}  // namespace tessera
