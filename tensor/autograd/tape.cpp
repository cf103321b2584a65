#include "tensor/autograd/tape.h"

#include <atomic>

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

void Tape::backward(const Tensor& loss, const Tensor& seed) {
  check_loss(loss, seed);
  const NoGrad pause;
  const GradSlots slots = {loss.grad_slot()};
  Gradients(slots).add(
      0, seed.defined() ? seed.detach() : Tensor::empty(loss.shape(), loss.dtype()).fill(1));
  recording_ = next_recording();
  try {
    run_backward();
  } catch (...) {
    entries_.clear();
    throw;
  }
}

void Tape::run_backward() {
  while (!entries_.empty()) {
    const Entry entry = std::move(entries_.back());
    entries_.pop_back();
    const Tensor dy = std::move(entry.output->gradient);
    entry.output->gradient = Tensor();
    if (!dy.defined()) continue;  // the loss does not depend on it
    Gradients dx(entry.inputs);
    entry.backward(dy, dx);
  }
}

}  // namespace tessera
