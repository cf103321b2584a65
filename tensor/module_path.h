// The part of a model that is computing, by which hooks and profiles name steps and ops.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tensor/profile_span.h"
#include "tensor/shape.h"

namespace tessera {

/// While in scope, names the part of a model that is computing: "self_attn", or "layers.5" for a
/// part "layers" and an index 5.
class ModulePath {
 public:
  explicit ModulePath(const char* part, index_t i = -1)
      : span_(detail::SpanKind::kModule, part, i),
        part_(part),
        number_(i),
        outer_(std::exchange(innermost, this)) {}
  ~ModulePath() { innermost = outer_; }
  ModulePath(const ModulePath&) = delete;
  ModulePath& operator=(const ModulePath&) = delete;

  /// The names in scope on this thread, from the outermost to the innermost, and then `name`:
  /// "layers.5.self_attn", "layers.5.self_attn.heads".
  static std::string current(std::string_view name = {});

 private:
  static inline constinit thread_local const ModulePath* innermost = nullptr;

  detail::Span span_;  // opened before this is the innermost path, closed after
  const char* part_;
  index_t number_;  // -1: the part has none
  const ModulePath* outer_;
};

}  // namespace tessera
