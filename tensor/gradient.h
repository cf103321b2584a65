// The core's part of gradients: the slots that sum gradients, and the interface that ops report to.
//
// Views are differentiable and belong to the core, but the tape is in a layer above. So the core
// declares what a view needs (Recorder, Gradients), and tensor/autograd defines it. If no tape
// records, active_recorder is null, and an op costs only this check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The sum of the gradients of one variable. Handles of the same variable share the slot; a view is
/// another variable with its own slot. The slot refers to its tape only by a number.
struct GradSlot {
  Shape shape;
  DType dtype = kFloat32;
  std::uint64_t recording = 0;  // the tape that computed the tensor; 0: a leaf, set by the user
  Tensor gradient = {};         // undefined until one arrives
  bool is_replaced = false;     // convert or freeze put another tensor in its place in a module
};

using GradSlots = std::vector<std::shared_ptr<GradSlot>>;

/// The gradients of an op's inputs, by the index of the input, for the op's backward.
class Gradients {
 public:
  explicit Gradients(const GradSlots& slots) : slots_(slots) {}

  /// Whether input i requires a gradient; other gradients need not be computed.
  bool needs_gradient(std::size_t i) const { return slots_[i] != nullptr; }

  /// Adds `gradient` to the gradient of input i, if wanted.
  ///
  /// `gradient` may have any shape that the input broadcasts to: it is summed over the broadcast
  /// axes here, once for all ops. The first gradient is kept without a copy if no other handle
  /// exists.
  void add(std::size_t i, Tensor gradient);

  /// Takes the gradient of input i so far out of its slot (undefined if there is none), for a
  /// backward that adds to it in the same pass and then gives the total to `add`.
  Tensor take(std::size_t i);

  /// The gradient of input i so far (zeros at first), contiguous and in its own memory, for a
  /// backward that adds to parts of it. Input i must require a gradient.
  Tensor buffer(std::size_t i);

 private:
  const GradSlots& slots_;
};

/// Adds to `dx` the gradients of an op's inputs, given the gradient `dy` of its output.
using Backward = std::function<void(const Tensor& dy, Gradients& dx)>;

/// Whether a write to the elements of x is visible only through this handle: x is contiguous, and
/// no other handle shares the memory.
bool is_own(const Tensor& x);

/// total += part, element by element; both have the same shape and floating dtype.
void add_in_place(Tensor total, const Tensor& part);

/// The interface to which ops report: a tape (tensor/autograd/tape.h).
class Recorder {
 public:
  /// Makes `y` a variable computed from the inputs, where inputs without a slot are constants.
  /// **Errors**: an input that another recording computed.
  virtual void record(const char* op, Tensor& y, GradSlots inputs, Backward backward) = 0;
  /// Whether all records have been used up, or there are none.
  virtual bool empty() const = 0;

 protected:
  ~Recorder() = default;
};

/// The recorder of this thread; null if there is none or recording is paused.
inline constinit thread_local Recorder* active_recorder = nullptr;

/// Whether ops on `x` are recorded.
inline bool is_recorded(const Tensor& x) {
  return active_recorder != nullptr && x.requires_grad();
}

/// `y`, computed only from `x` by `op`; recorded if x is. **Shapes**: any; the result is `y`.
template <class F>
Tensor recorded(const char* op, const Tensor& x, Tensor y, F backward) {
  if (is_recorded(x)) active_recorder->record(op, y, {x.grad_slot()}, std::move(backward));
  return y;
}

}  // namespace tessera
