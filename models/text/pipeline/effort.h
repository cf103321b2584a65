// How much work a file may make of a text.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::text {

/// What normalizers and pre-tokenizers do to a text, counted: files from strangers have a thousand
/// steps, expressions that try everything, and texts that double again and again. One Effort is for
/// all parts of a text together.
///
/// **Errors** throughout: std::invalid_argument: more than any real tokenizer needs.
class Effort {
 public:
  /// For a text of so many bytes.
  explicit Effort(index_t bytes) : bytes_(bytes), left_(kSteps + kStepsPerByte * bytes) {}

  /// Counts steps of some nanoseconds each.
  void spend(index_t steps) {
    if ((left_ -= steps) < 0) fail_spent();
  }
  /// Throws where something has become too long.
  void check_size(index_t size) const {
    if (size > kMostTimes * (bytes_ + kShort)) fail_size(size);
  }
  /// Counts what a part has become, for good.
  void keep(index_t size) { check_size(kept_ += size); }

 private:
  static constexpr index_t kSteps = 5'000'000;
  static constexpr index_t kStepsPerByte = 200;  // GPT-4's expression takes 30
  static constexpr index_t kMostTimes = 12;      // U+FDFA becomes 11 times as many bytes by NFKD
  static constexpr index_t kShort = 1000;

  [[noreturn]] void fail_spent() const;
  [[noreturn]] void fail_size(index_t size) const;

  index_t bytes_;
  index_t left_;
  index_t kept_ = 0;
};

}  // namespace tessera::text
