// Limits the work that a file can cause for a text.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::text {

/// Counts the work of a tokenizer's steps on a text: an untrusted file may have 1000 steps, regular
/// expressions with exponential time, long tokens that nearly match everywhere, and texts that
/// double repeatedly. All parts of a text share one Effort.
///
/// **Errors** throughout: std::invalid_argument: more than any real tokenizer needs.
class Effort {
 public:
  /// `bytes`: the size of the text.
  explicit Effort(index_t bytes) : bytes_(bytes), left_(kSteps + kStepsPerByte * bytes) {}

  /// Counts steps of 1 to 5 nanoseconds each.
  void spend(index_t steps) {
    if ((left_ -= steps) < 0) fail_spent();
  }
  /// Throws if the text, or a part of it, is too long.
  void check_size(index_t size) const { check_count(size, "bytes"); }
  /// Throws if the text, or a part of it, has too many tokens.
  void check_tokens(index_t count) const { check_count(count, "tokens"); }
  /// Counts the final size of a part.
  void keep(index_t size) { check_size(kept_ += size); }

 private:
  static constexpr index_t kSteps = 5'000'000;
  static constexpr index_t kStepsPerByte = 200;  // GPT-4's expression takes 30
  static constexpr index_t kMostTimes = 12;      // U+FDFA grows 11 times in bytes by NFKD
  static constexpr index_t kShort = 1000;

  index_t most() const { return kMostTimes * (bytes_ + kShort); }
  void check_count(index_t count, const char* unit) const {
    if (count > most()) fail_count(count, unit);
  }
  [[noreturn]] void fail_spent() const;
  [[noreturn]] void fail_count(index_t count, const char* unit) const;

  index_t bytes_;
  index_t left_;
  index_t kept_ = 0;
};

}  // namespace tessera::text
