// The part of gradients that views need: the slots that sum gradients, and the interface to which
// ops report.
//
// Views are differentiable, but the tape is in a layer above the views, tensor/autograd. So this
// file declares what a view needs (Recorder, Gradients), and tensor/autograd defines it. If no tape
// records, active_recorder is null, and this check is the only cost for an op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The sum of the gradients of one variable. Handles of the same variable share the slot; a
/// recorded view is a different variable with its own slot. The slot refers to its tape only by a
/// number.
struct GradSlot {
  Shape shape;
  DType dtype = kFloat32;
  std::uint64_t recording = 0;  // of the tape that recorded the variable; 0: a leaf
  Tensor gradient = {};         // undefined until a gradient is added
  bool is_frozen = false;       // by set_requires_grad(false), through any handle
  bool is_replaced = false;     // in a module, by convert() or prepack()
};

using GradSlots = std::vector<std::shared_ptr<GradSlot>>;

/// The gradients of an op's inputs, by the index of the input, for the op's backward.
class Gradients {
 public:
  explicit Gradients(const GradSlots& slots) : slots_(slots) {}

  /// Whether input i requires a gradient; if not, its gradient need not be computed.
  bool needs_gradient(std::size_t i) const { return slots_[i] != nullptr; }

  /// Adds `gradient` to the gradient of input i, if the input requires one.
  ///
  /// `gradient` may have any shape that the input broadcasts to: this function sums it over the
  /// broadcast axes, so ops need not. The first gradient is kept without a copy, except that a leaf
  /// gets a copy if the memory is shared or not contiguous.
  /// **Errors**: a gradient of a shape to which the input does not broadcast.
  void add(std::size_t i, Tensor gradient);

  /// Takes the gradient of input i so far out of its slot (undefined before the first), for a
  /// backward that computes the sum of this gradient and its own, and gives the sum to `add`.
  Tensor take(std::size_t i);

  /// The gradient of input i so far (zeros at first), contiguous and in its own memory, for a
  /// backward that adds to parts of this tensor. Input i must require a gradient.
  Tensor buffer(std::size_t i);

 private:
  const GradSlots& slots_;
};

/// Adds to `dx` the gradients of an op's inputs, given the gradient `dy` of its output.
using Backward = std::function<void(const Tensor& dy, Gradients& dx)>;

/// Whether a write to the elements of x is visible only through this handle: x is contiguous, and
/// no other handle shares the memory.
bool is_own(const Tensor& x);

/// total += part, element by element. **Errors**: different shapes; dtypes that differ or are not
/// floating.
void add_in_place(Tensor total, const Tensor& part);

/// The interface to which ops report; a tape (tensor/autograd/tape.h) implements it.
class Recorder {
 public:
  /// Makes `y` a variable computed from the inputs; a null slot is that of a constant.
  /// **Errors**: an input that a different tape recorded, or this tape before its last backward.
  virtual void record(const char* op, Tensor& y, GradSlots inputs, Backward backward) = 0;
  /// Whether the tape holds no recorded ops.
  virtual bool empty() const = 0;

 protected:
  ~Recorder() = default;
};

/// The recorder of this thread; null if no tape exists or recording is paused.
inline constinit thread_local Recorder* active_recorder = nullptr;

/// Whether ops on `x` are recorded.
inline bool is_recorded(const Tensor& x) {
  return active_recorder != nullptr && x.requires_grad();
}

/// `y`, which `op` computed only from `x`; recorded if is_recorded(x). **Shapes**: any; the result
/// is `y`. **Errors**: as Recorder::record.
template <class F>
Tensor recorded(const char* op, const Tensor& x, Tensor y, F backward) {
  if (is_recorded(x)) active_recorder->record(op, y, {x.grad_slot()}, std::move(backward));
  return y;
}

}  // namespace tessera
