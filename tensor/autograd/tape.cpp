#include "tensor/autograd/tape.h"

#include <atomic>
#include <unordered_set>
#include <utility>

#include "tensor/error.h"

namespace tessera {

namespace {

std::uint64_t next_recording() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Tape::Tape() : recording_(next_recording()), previous_(active_recorder) {
  active_recorder = this;
}

Tape::~Tape() {
  if (active_recorder == this) active_recorder = previous_;
  // Last to first, as backward: an entry may hold the last handle on what an earlier one made.
  while (!entries_.empty()) entries_.pop_back();
}

void Tape::record(const char* op, Tensor& y, GradSlots inputs, Backward backward) {
  for (const auto& slot : inputs) {
    require(!slot || slot->recording == 0 || slot->recording == recording_, op,
            "an input was computed under another tape, or before this tape's last backward, and "
            "its history is gone; detach() it to use it as a constant");
  }
  auto slot = std::make_shared<GradSlot>(
      GradSlot{.shape = y.shape(), .dtype = y.dtype(), .recording = recording_});
  y.set_grad_slot(slot);
  entries_.push_back({op, std::move(slot), std::move(inputs), std::move(backward)});
}

void Tape::check_loss(const Tensor& loss, const Tensor& seed) const {
  constexpr const char* kOp = "backward";
  require(loss.defined(), kOp, "the loss is undefined");
  require(loss.requires_grad(), kOp,
          "the loss was not recorded: nothing that it was computed from ",
          "requires a gradient, or no tape was active");
  require(has_recorded(loss), kOp,
          "this tape has not recorded the loss, or an earlier backward has used up the recording");
  if (seed.defined()) {
    require(seed.shape() == loss.shape() && is_floating(seed.dtype()), kOp, "a seed of shape ",
            seed.shape(), " and dtype ", seed.dtype(), " for a ", loss.dtype(), " loss of shape ",
            loss.shape());
  } else {
    require(loss.count() == 1, kOp, "the loss of shape ", loss.shape(),
            " is not a scalar; sum it, or pass the gradient to start from");
  }
}

void Tape::backward(const Tensor& loss, const Tensor& seed, const LeafHook& on_complete) {
  check_loss(loss, seed);
  const NoGrad pause;
  const GradSlots slots = {loss.grad_slot()};
  Gradients(slots).add(
      0, seed.defined() ? seed.detach() : Tensor::empty(loss.shape(), loss.dtype()).fill(1));
  recording_ = next_recording();
  try {
    run_backward(on_complete);
  } catch (...) {
    entries_.clear();
    throw;
  }
}

void Tape::run_backward(const LeafHook& on_complete) {
  std::vector<FirstUse> uses;
  if (on_complete) uses = first_uses();
  while (!entries_.empty()) {
    run_last();
    for (; !uses.empty() && uses.back().entry == entries_.size(); uses.pop_back()) {
      on_complete(*uses.back().leaf);
    }
  }
}

/// The backward of the last entry, which is freed.
void Tape::run_last() {
  const Entry entry = std::move(entries_.back());
  entries_.pop_back();
  const Tensor dy = std::move(entry.output->gradient);
  entry.output->gradient = Tensor();
  if (!dy.defined()) return;  // the loss does not depend on it
  Gradients dx(entry.inputs);
  entry.backward(dy, dx);
}

std::vector<Tape::FirstUse> Tape::first_uses() const {
  std::vector<FirstUse> uses;
  std::unordered_set<const GradSlot*> seen;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    for (const auto& slot : entries_[i].inputs) {
      const bool is_leaf = slot && slot->recording == 0;
      if (is_leaf && seen.insert(slot.get()).second) uses.push_back({i, slot});
    }
  }
  return uses;
}

GradSlots Tape::leaves() const {
  GradSlots result;
  for (FirstUse& use : first_uses()) result.push_back(std::move(use.leaf));
  return result;
}

}  // namespace tessera
