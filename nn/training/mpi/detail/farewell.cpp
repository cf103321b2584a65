#include "nn/training/mpi/detail/farewell.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace tessera::mpi {

namespace {

/// More than the cores of a host. In static memory, because a signal handler reads it.
std::array<pid_t, 4096> neighbour_ids = {};
std::atomic<int> neighbour_count = 0;
std::atomic<bool> waits = false;
constexpr unsigned kSeconds = 5;
int sections_begun = 0;  // and not ended
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void end_by_signal(int) {
  signal(SIGTERM, SIG_DFL);
  raise(SIGTERM);
}

/// Only calls functions of signal-safety(7).
void on_terminate(int) {
  const int saved_errno = errno;
  const int count = neighbour_count.load();
  bool is_one_lost = false;
  for (int i = 0; i < count; ++i) {
    const pid_t id = neighbour_ids[static_cast<std::size_t>(i)];
    is_one_lost = is_one_lost || (kill(id, 0) != 0 && errno == ESRCH);
  }
  if (!is_one_lost) return end_by_signal(SIGTERM);
  waits.store(true);
  signal(SIGALRM, end_by_signal);
  alarm(kSeconds);
  errno = saved_errno;
}

/// Replaces the handler if the present one is `from`.
void exchange_handler(void (*from)(int), void (*to)(int)) {
  struct sigaction action = {};
  if (sigaction(SIGTERM, nullptr, &action) != 0 || action.sa_handler != from) return;
  action = {};
  action.sa_handler = to;
  action.sa_flags = SA_RESTART | (to == SIG_DFL ? 0 : static_cast<int>(SA_RESETHAND));
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void begin_farewells(std::span<const long> ids) {
  const std::size_t count = std::min(ids.size(), neighbour_ids.size());
  std::transform(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count),
                 neighbour_ids.begin(), [](long id) { return static_cast<pid_t>(id); });
  neighbour_count.store(static_cast<int>(count));
  if (sections_begun++ == 0) exchange_handler(SIG_DFL, on_terminate);
}

void end_farewells() {
  if (--sections_begun == 0) exchange_handler(on_terminate, SIG_DFL);
}

bool is_farewell() {
  return waits.load(std::memory_order_relaxed);
}

}  // namespace tessera::mpi
