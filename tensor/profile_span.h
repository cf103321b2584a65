// The measurements of profiles: spans of time that threads open and close, and the work done in
// them. If no profile (profile.h) is active, a span costs one relaxed load of an atomic number.
#pragma once

#include <atomic>
#include <cstdint>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

namespace detail {

/// The number of the active profile; 0: none.
inline constinit std::atomic<std::uint32_t> active_profile = 0;

inline bool is_profiling() {
  return active_profile.load(std::memory_order_relaxed) != 0;
}

/// A step of one thread's profile. A tape stores it to find the step again in the backward pass.
struct ProfiledStep {
  std::uint32_t log = 0;  // the number of the thread's log; 0: no step
  std::uint32_t node = 0;
};

enum class SpanKind : std::uint8_t { kScope, kModule, kForward, kBackward };

/// A span of time, from construction to destruction. Spans of a thread are nested. `name` must
/// outlive the profile.
class Span {
 public:
  /// `recorded`, for kBackward: the step in which the op's forward ran.
  explicit Span(SpanKind kind, const char* name, index_t number = -1, ProfiledStep recorded = {})
      : profile_(active_profile.load(std::memory_order_relaxed)) {
    if (profile_ != 0) open(kind, name, number, recorded);
  }
  ~Span() {
    if (profile_ != 0) close();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  void open(SpanKind kind, const char* name, index_t number, ProfiledStep recorded);
  void close() const noexcept;

  std::uint32_t profile_;  // 0: not measured
};

/// The innermost open step of this thread; none if no profile measures.
ProfiledStep current_step();

void add_work(double flops, double bytes) noexcept;
/// Adds bytes of an op's inputs or outputs. These bytes are the op's traffic if add_work has
/// counted no bytes.
void add_arguments(double bytes) noexcept;

}  // namespace detail

/// Names work that is neither an op nor a module: `const ProfileScope scope("tokenize");`. The name
/// must outlive the profile.
class ProfileScope {
 public:
  explicit ProfileScope(const char* name) : span_(detail::SpanKind::kScope, name) {}

 private:
  detail::Span span_;
};

/// Adds floating-point operations, and the bytes read and written, to this thread's innermost open
/// span.
inline void count_work(double flops, double bytes) noexcept {
  if (detail::is_profiling()) detail::add_work(flops, bytes);
}

}  // namespace tessera
