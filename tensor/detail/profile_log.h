// The data of a profile for each thread: a tree of the steps that were open inside each other. A
// step that is opened again in the same step is the same node, so time per node is all that tables
// need.
#pragma once

#include <string>
#include <vector>

#include "tessera/tensor/detail/large_pages.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::detail {

struct ProfileNode {
  SpanKind kind = SpanKind::kScope;
  bool is_backward = false;
  const char* name = "";
  index_t number = -1;       // of a module; -1: none
  std::uint32_t parent = 0;  // the step that contains this one
  std::uint32_t module = 0;  // the enclosing module or scope, which may be this step itself
  std::uint32_t outer = 0;   // of a module or scope: the module around it
  std::uint32_t first_child = 0, next_sibling = 0;  // 0: none

  index_t calls = 0;
  index_t time = 0;  // in nanoseconds
  index_t wait = 0;
  double flops = 0, bytes = 0;
  double arguments = 0;  // bytes of inputs and outputs

  index_t begin = 0;  // of the last call
};

struct ProfileEvent {
  std::uint32_t node;
  index_t begin, time;
};

/// Written only by its own thread. Node 0 is the thread itself: it contains all outermost steps.
struct ProfileLog {
  static constexpr std::size_t kMostEvents = 1'000'000;

  explicit ProfileLog(std::uint32_t log_number);

  /// Makes the log of this thread in the profile of this number; null if it has just ended.
  static ProfileLog* join(std::uint32_t profile);

  /// The node of a step that is opened in the current one.
  std::uint32_t node_of(SpanKind kind, const char* name, index_t step_number,
                        ProfiledStep recorded);
  void open(std::uint32_t node);
  /// Ends the current step.
  void close(index_t end);

  std::uint32_t number;  // unique in this process
  std::string path;      // the modules that were open when the log began
  std::uint32_t current = 0;
  std::vector<ProfileNode> nodes;
  LargePages<ProfileEvent> events = large_pages<ProfileEvent>(kMostEvents);
  std::size_t event_count = 0;  // in the order in which steps end: inner steps come first
};

index_t profile_time();

}  // namespace tessera::detail
