#include "bench/event_counters.h"

#include <cerrno>
#include <cstring>

#include "tensor/error.h"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#endif

namespace tessera::bench {

#if defined(__linux__)

namespace {

struct EventKind {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr EventKind kEventKinds[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

/// A counter of one thread that does not count yet, or -1 with the reason in errno.
int open_event(const EventKind& kind, int thread) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = kind.type;
  attributes.config = kind.config;
  attributes.disabled = 1;
  attributes.exclude_hv = 1;
  // Whoever is no administrator may mostly count what happens outside the kernel only.
  attributes.exclude_kernel = kind.type == PERF_TYPE_HARDWARE ? 1 : 0;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const auto open = [&] {
    return static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  };
  int descriptor = open();
  if (descriptor < 0 && attributes.exclude_kernel == 0) {
    attributes.exclude_kernel = 1;
    descriptor = open();
  }
  return descriptor;
}

std::vector<int> own_threads() {
  std::vector<int> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads.push_back(std::stoi(entry.path().filename().string()));
  }
  return threads;
}

}  // namespace

EventCounters::EventCounters() {
  const std::vector<int> threads = own_threads();
  for (std::size_t kind = 0; kind < std::size(kEventKinds); ++kind) {
    const std::size_t before = events_.size();
    bool all = true;  // but for threads that have ended
    for (const int thread : threads) {
      const int descriptor = open_event(kEventKinds[kind], thread);
      if (descriptor >= 0) {
        events_.push_back({kind, descriptor});
      } else if (errno != ESRCH) {
        all = false;
      }
    }
    // The events of some threads, where a process may open no more files, would look like few events.
    for (; !all && events_.size() > before; events_.pop_back()) close(events_.back().descriptor);
  }
}

EventCounters::~EventCounters() {
  for (const Event& event : events_) close(event.descriptor);
}

void EventCounters::start() {
  for (const Event& event : events_) ioctl(event.descriptor, PERF_EVENT_IOC_ENABLE, 0);
}

void EventCounters::stop() {
  for (const Event& event : events_) ioctl(event.descriptor, PERF_EVENT_IOC_DISABLE, 0);
}

Figures EventCounters::per_call(std::size_t calls) const {
  Figures figures;
  for (const Event& event : events_) {
    std::uint64_t values[3] = {};  // the count, and the time it was wanted and really counted
    if (read(event.descriptor, values, sizeof(values)) != sizeof(values)) continue;
    const double shared =
        values[2] > 0 ? static_cast<double>(values[1]) / static_cast<double>(values[2]) : 1;
    const double count = static_cast<double>(values[0]) * shared / static_cast<double>(calls);
    const char* const name = kEventKinds[event.kind].name;
    if (figures.empty() || figures.back().first != name) figures.emplace_back(name, 0.0);
    figures.back().second += count;
  }
  return figures;
}

std::string describe_counters() {
  std::string names;
  std::string why;
  for (const EventKind& kind : kEventKinds) {
    const int descriptor = open_event(kind, 0);
    if (descriptor >= 0) {
      close(descriptor);
      names += (names.empty() ? "" : ", ") + std::string(kind.name);
    } else if (why.empty()) {
      why = std::strerror(errno);
    }
  }
  if (why.empty()) return names;
  return str_cat(names.empty() ? "none" : names + " only", " (perf_event_open: ", why, ")");
}

#else

EventCounters::EventCounters() = default;
EventCounters::~EventCounters() = default;
void EventCounters::start() {}
void EventCounters::stop() {}
Figures EventCounters::per_call(std::size_t) const {
  return {};
}
std::string describe_counters() {
  return "none: this system has no perf_event_open";
}

#endif

}  // namespace tessera::bench
