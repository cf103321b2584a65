// The processor's own counters, through Linux' perf_event_open, where the machine has them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/case.h"

namespace tessera::bench {

/// Counts events of all threads of this process between start() and stop(): cycles, instructions,
/// cache_misses, branch_misses, page_faults, context_switches. An event that the machine or its
/// settings keep from us is left out.
class EventCounters {
 public:
  /// For the threads that there are now.
  EventCounters();
  ~EventCounters();
  EventCounters(const EventCounters&) = delete;
  EventCounters& operator=(const EventCounters&) = delete;

  void start();
  void stop();
  /// What was counted over the number of calls. Where the processor had to share its counters among
  /// more events than it has, the count is scaled up to the whole time.
  Figures per_call(std::size_t calls) const;

 private:
  struct Event {
    std::size_t kind;
    int descriptor;
  };
  std::vector<Event> events_;
};

/// "cycles, instructions, ...", or why there are none of the processor's.
std::string describe_counters();

}  // namespace tessera::bench
