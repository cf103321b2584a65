// The tape: the computed ops in order, so that gradients can be computed in the reverse order.
//
//   Tensor w = randn({3}).set_requires_grad();
//   Tape tape;                          // records from here on, on this thread
//   Tensor loss = sum(square(x * w));
//   tape.backward(loss);                // w.grad() is 2 x^2 w
//
// A tape records an op if the tape is active on the op's thread and an input is a variable. A
// variable is either a leaf, made by set_requires_grad, or the result of a recorded op. Without a
// tape nothing is recorded: inference is the default, and a view or a result made without a tape is
// a constant under a later tape. A NoGrad pauses recording.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/tensor/gradient.h"
#include "tessera/tensor/profile_span.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

namespace detail {

/// The scope of a Tape or of a NoGrad. The scopes of a thread form a stack, and the newest sets the
/// active recorder.
class TapeScope {
 public:
  /// Makes `recorder` the active one; if it is null, nothing is recorded.
  explicit TapeScope(Recorder* recorder);
  ~TapeScope();
  TapeScope(const TapeScope&) = delete;
  TapeScope& operator=(const TapeScope&) = delete;

  /// Whether this is the thread that made the scope.
  bool is_of_this_thread() const;
  /// Whether an older scope has ended before this one.
  bool has_outlived() const { return has_outlived_; }

 private:
  const void* thread_;  // where it was made
  Recorder* recorder_;
  Recorder* before_;  // the active recorder before this scope
  TapeScope* older_;
  bool has_outlived_ = false;
};

}  // namespace detail

/// Records the ops of its thread from construction to destruction. If a tape is created while an
/// older tape records, only the newer tape records until it ends. Under one tape, do not use
/// results that the other tape recorded. Tapes and NoGrads must end in the reverse order of their
/// creation, as scopes do, on the thread that made them. If a tape ends too early, the tapes made
/// after that tape can no longer record or run backward. Several threads may record at once, each
/// with its own tape, but must not add gradients to the same leaves.
///
/// **Errors** of ops while a tape records: an input that a different tape recorded, or this tape
/// before its last backward; an older tape that was destroyed before this one. A tape that another
/// thread destroys ends the process, with a message.
/// **Source**: Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, chapter 3,
/// reverse mode; torch.autograd.backward.
class Tape final : private Recorder {
 public:
  [[nodiscard]] Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds the gradient of `loss` to grad() of every leaf from which `loss` was computed. The
  /// gradients of several calls are summed until zero_grad().
  ///
  /// The recorded entries are used up and freed one by one; the tape then starts a new recording.
  /// So there is no retain_graph and no gradient of a gradient, and grad() of a variable that is
  /// not a leaf stays undefined. `gradient` is the gradient of `loss` itself; an undefined gradient
  /// means 1.
  ///
  /// **Errors**: a loss without a gradient whose number of elements is not 1; a gradient that is
  /// not floating or does not have the shape of `loss`; a loss that this tape has not recorded
  /// since its last backward; a tensor that an op needs for its backward, but that was written to
  /// after the op ran; an older tape that ended before this one; a thread that did not make the
  /// tape. After an error in an op's backward, the tape is empty, and some leaves lack gradients.
  void backward(const Tensor& loss, const Tensor& gradient = {});

  /// Whether this tape has recorded the op that computed `x`, since the tape's last backward; false
  /// for a leaf or a constant.
  bool has_recorded(const Tensor& x) const {
    return x.requires_grad() && x.grad_slot()->recording == recording_;
  }

  /// The leaves that recorded ops have as inputs, each once.
  GradSlots leaves() const;

  /// The number of recorded ops that no backward has used up.
  index_t size() const { return static_cast<index_t>(entries_.size()); }

 private:
  struct Entry {
    const char* op;
    detail::ProfiledStep step;  // in which the op ran
    std::shared_ptr<GradSlot> output;
    GradSlots inputs;
    Backward backward;
  };

  void record(const char* op, Tensor& y, GradSlots inputs, Backward backward) override;
  bool empty() const override { return entries_.empty(); }
  void check_order(const char* op) const;
  void check_loss(const Tensor& loss, const Tensor& gradient) const;
  void run_last();

  std::vector<Entry> entries_;
  std::uint64_t recording_;  // a number that no other tape, and no earlier backward, had
  detail::TapeScope scope_;
};

/// While a NoGrad is in scope, nothing is recorded on this thread, which must also destroy it.
/// **Source**: torch.no_grad.
class NoGrad {
 public:
  [[nodiscard]] NoGrad() : scope_(nullptr) {}

 private:
  detail::TapeScope scope_;
};

}  // namespace tessera
