#include "tessera/tensor/autograd/tape.h"

#include <atomic>
#include <cstdio>
#include <exception>
#include <unordered_set>
#include <utility>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/error.h"

namespace tessera {

namespace {

constexpr const char* kBackwardOp = "backward";

std::uint64_t next_recording() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

thread_local detail::TapeScope* newest_scope = nullptr;

/// Counts what a backward reads and writes, except for saved tensors. A gradient that is passed on
/// is not moved.
void count_gradients(const Tensor& dy, const GradSlots& slots) {
  detail::count_elements(dy);
  for (const auto& slot : slots) {
    if (!slot || slot->gradient.storage() == dy.storage()) continue;
    detail::count_elements(slot->gradient);
  }
}

}  // namespace

namespace detail {

TapeScope::TapeScope(Recorder* recorder)
    : thread_(&newest_scope), recorder_(recorder), before_(active_recorder), older_(newest_scope) {
  newest_scope = this;
  active_recorder = recorder;
}

bool TapeScope::is_of_this_thread() const {
  return thread_ == &newest_scope;
}

TapeScope::~TapeScope() {
  if (!is_of_this_thread()) {
    std::fputs("Tape or NoGrad: must be destroyed in the thread that made it\n", stderr);
    std::terminate();
  }
  if (newest_scope == this) {
    newest_scope = older_;
    active_recorder = before_;
    return;
  }
  // This scope ends too early: the next newer one must not restore its recorder.
  for (TapeScope* newer = newest_scope; newer != nullptr; newer = newer->older_) {
    newer->has_outlived_ = true;
    if (newer->older_ != this) continue;
    newer->older_ = older_;
    if (newer->before_ == recorder_) newer->before_ = before_;
    return;
  }
}

}  // namespace detail

Tape::Tape() : recording_(next_recording()), scope_(this) {}

Tape::~Tape() {
  // From last to first, as in backward: an entry may hold the last handle on an earlier result.
  while (!entries_.empty()) entries_.pop_back();
}

void Tape::check_order(const char* op) const {
  require(scope_.is_of_this_thread(), op,
          "a tape must be used in the thread that made it, got a different thread");
  require(
      !scope_.has_outlived(), op,
      "tapes must be destroyed in the reverse order of their creation, got an older one destroyed "
      "first; destroy the newer tape first");
}

void Tape::record(const char* op, Tensor& y, GradSlots inputs, Backward backward) {
  check_order(op);
  for (const auto& slot : inputs) {
    require(!slot || slot->recording == 0 || slot->recording == recording_, op,
            "inputs must be recorded by the active tape since its last backward, got one of "
            "another tape or an earlier recording; detach() it to use it as a constant");
  }
  auto slot = std::make_shared<GradSlot>(
      GradSlot{.shape = y.shape(), .dtype = y.dtype(), .recording = recording_});
  y.set_grad_slot(slot);
  entries_.push_back(
      {op, detail::current_step(), std::move(slot), std::move(inputs), std::move(backward)});
}

void Tape::check_loss(const Tensor& loss, const Tensor& gradient) const {
  check_order(kBackwardOp);
  require(loss.defined(), kBackwardOp, "loss must be defined, got an undefined tensor");
  require(
      loss.requires_grad(), kBackwardOp,
      "loss must be recorded, got a constant: no input required a gradient, or no tape was active");
  require(has_recorded(loss), kBackwardOp,
          "loss must be recorded by this tape since its last backward, got a loss of a different "
          "tape or of an earlier recording");
  if (gradient.defined()) {
    require(gradient.shape() == loss.shape() && is_floating(gradient.dtype()), kBackwardOp,
            "gradient must be floating of the loss's shape ", loss.shape(), ", got ",
            gradient.dtype(), ' ', gradient.shape());
  } else {
    require(loss.count() == 1, kBackwardOp, "loss must have 1 element, got shape ", loss.shape(),
            "; sum it, or pass a gradient");
  }
}

void Tape::backward(const Tensor& loss, const Tensor& gradient) {
  check_loss(loss, gradient);
  const NoGrad pause;
  const detail::Span span(detail::SpanKind::kBackward, kBackwardOp);
  const GradSlots slots = {loss.grad_slot()};
  Gradients(slots).add(0, gradient.defined() ? gradient.detach()
                                             : Tensor::empty(loss.shape(), loss.dtype()).fill(1));
  recording_ = next_recording();
  try {
    while (!entries_.empty()) run_last();
  } catch (...) {
    entries_.clear();
    throw;
  }
}

/// Runs the backward of the last entry and frees the entry.
void Tape::run_last() {
  const Entry entry = std::move(entries_.back());
  entries_.pop_back();
  const Tensor dy = std::move(entry.output->gradient);
  entry.output->gradient = Tensor();
  if (!dy.defined()) return;  // the loss does not depend on it
  const detail::Span span(detail::SpanKind::kBackward, entry.op, -1, entry.step);
  Gradients dx(entry.inputs);
  entry.backward(dy, dx);
  if (detail::is_profiling()) count_gradients(dy, entry.inputs);
}

GradSlots Tape::leaves() const {
  GradSlots leaves;
  std::unordered_set<const GradSlot*> seen;
  for (const Entry& entry : entries_) {
    for (const auto& slot : entry.inputs) {
      const bool is_leaf = slot && slot->recording == 0;
      if (is_leaf && seen.insert(slot.get()).second) leaves.push_back(slot);
    }
  }
  return leaves;
}

}  // namespace tessera
