// The name of the part of a model that is computing, for hooks and profiles, and the other data
// that they keep for each thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tessera/tensor/profile_span.h"
#include "tessera/tensor/shape.h"

namespace tessera {

class ModulePath;

namespace nn {
class Hook;
class HookedRows;
class HookedTexts;
}  // namespace nn

namespace detail {

struct ProfileLog;

/// The data that hooks and profiles keep for a thread. The members point to objects in scope, each
/// of which points to the one around it.
struct ThreadContext {
  const ModulePath* path = nullptr;  // the innermost

  nn::Hook* active_hook = nullptr;         // the newest hook that is not paused; null: none
  nn::Hook* newest_hook = nullptr;         // of all hooks
  index_t last_hook = 0;                   // its number; hooks have the numbers 1, 2, ...
  index_t paused_up_to = 0;                // hooks with these numbers are paused
  const nn::HookedRows* rows = nullptr;    // of the points that are computed; null: padded
  const nn::HookedTexts* texts = nullptr;  // of these points; null: none

  ProfileLog* log = nullptr;
  std::uint32_t profile = 0;  // the number of the profile that `log` is part of
};

// Trivially destructible, so that hooks with static storage may end after it.
inline constinit thread_local ThreadContext thread_context;

}  // namespace detail

/// While in scope, names the part of a model that is computing: "self_attn", or "layers.5" for a
/// part "layers" and an index 5.
class ModulePath {
 public:
  explicit ModulePath(const char* part, index_t i = -1)
      : span_(detail::SpanKind::kModule, part, i),
        part_(part),
        number_(i),
        outer_(std::exchange(detail::thread_context.path, this)) {}
  ~ModulePath() { detail::thread_context.path = outer_; }
  ModulePath(const ModulePath&) = delete;
  ModulePath& operator=(const ModulePath&) = delete;

  /// The names in scope on this thread, from the outermost to the innermost, and then `name`:
  /// "layers.5.self_attn", "layers.5.self_attn.heads".
  static std::string current(std::string_view name = {});

 private:
  detail::Span span_;  // opened before this is the innermost path, closed after
  const char* part_;
  index_t number_;  // -1: the part has none
  const ModulePath* outer_;
};

}  // namespace tessera
