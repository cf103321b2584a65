// The interface by which an op reports itself to the tape. An op's forward and backward are in one
// function:
//
//   Tensor exp(const Tensor& x) {
//     Recording op("exp", {&x});
//     const Tensor y = ...;                     // ops called here are not recorded
//     return op.finish(y, [&] {                 // only if x requires a gradient:
//       return [y = op.save(y)](const Tensor& dy, Gradients& dx) { dx.add(0, dy * y); };
//     });
//   }
//
// An op composed of other ops needs no Recording: the other ops record themselves.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include "tessera/tensor/gradient.h"
#include "tessera/tensor/profile_span.h"

namespace tessera {

namespace detail {

/// Counts the bytes of the elements of `x` as traffic of this thread's innermost open step;
/// elements that a broadcast repeats count once.
void count_elements(const Tensor& x);

}  // namespace detail

/// A tensor that a backward reads again. If the tensor's memory was written to after the op ran,
/// reading it is an error.
///
/// A closure must use a Saved for each tensor to which other code may hold a handle.
class Saved {
 public:
  Saved() = default;  // an undefined tensor
  Saved(const char* op, const Tensor& x)
      : op_(op), tensor_(x.detach()), version_(x.defined() ? x.storage().version() : 0) {}

  /// The tensor, without history. **Errors**: its memory was written to since the op ran.
  const Tensor& get() const;
  operator const Tensor&() const { return get(); }

 private:
  const char* op_ = "";
  Tensor tensor_;
  std::uint64_t version_ = 0;
};

/// One op, from its first line to `finish`. In between, recording is paused, so the ops that this
/// op calls are not recorded. If no tape and no profile is active, a Recording costs two checks.
class Recording {
 public:
  /// An input may be null or undefined. Gradients refers to an input by its position in `inputs`.
  /// **Errors**: a tape records, and an input is a parameter that no call of `visit` has
  /// named.
  Recording(const char* op, std::initializer_list<const Tensor*> inputs);
  Recording(const char* op, std::span<const Tensor> inputs);
  ~Recording() {
    if (recorder_ != nullptr) active_recorder = recorder_;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Whether a tape records and an input requires a gradient: only then the op must save tensors
  /// for its backward.
  explicit operator bool() const { return recorder_ != nullptr; }
  /// Whether a tape records and input i requires a gradient.
  bool needs_gradient(std::size_t i) const { return recorder_ != nullptr && slots_[i] != nullptr; }

  /// `x` for the backward to read.
  Saved save(const Tensor& x) const { return Saved(op_, x); }

  /// `y`. If a tape records and an input requires a gradient, the tape records `y` with the
  /// backward that `make_backward()` returns. **Errors**: as Recorder::record.
  template <class MakeBackward>
  Tensor finish(Tensor y, const MakeBackward& make_backward) {
    if (detail::is_profiling()) detail::count_elements(y);
    if (recorder_ != nullptr) {
      Backward backward = make_backward();
      recorder_->record(op_, y, std::move(slots_), std::move(backward));
      active_recorder = std::exchange(recorder_, nullptr);
    }
    return y;
  }

 private:
  detail::Span span_;
  const char* op_;
  Recorder* recorder_ = nullptr;  // null if no input requires a gradient
  GradSlots slots_;
};

/// Whether a tape records and an input requires a gradient.
bool any_needs_gradient(std::initializer_list<const Tensor*> inputs);

/// For an op without a backward: throws if a gradient is needed, because a silently missing
/// gradient is worse.
/// **Errors**: a tape records and an input requires a gradient.
void refuse_gradient(const char* op, std::initializer_list<const Tensor*> inputs);

}  // namespace tessera
