// The core's part of gradients: where one gathers, and to whom an op is reported.
//
// Views live in the core and are differentiable, but the tape stands above it. So the core declares
// the little that a view must say (Recorder, Gradients), and tensor/autograd defines it. Where no
// tape records, active_recorder is null, and that check is all that anything costs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The place in which the gradient of one variable is summed. Handles of the same variable share
/// it; a view is another variable with a slot of its own. Of the tape it has only a number.
struct GradSlot {
  Shape shape;
  DType dtype = kFloat32;
  std::uint64_t recording = 0;  // by which the tensor was computed; 0: a leaf, set by the user
  Tensor gradient = {};         // undefined until one arrives
  bool is_replaced = false;     // convert or freeze put another in its place, in a module
};

using GradSlots = std::vector<std::shared_ptr<GradSlot>>;

/// The gradients of an op's inputs, by their place among the inputs, as its backward sees them.
class Gradients {
 public:
  explicit Gradients(const GradSlots& slots) : slots_(slots) {}

  /// Whether input i requires a gradient; others need not be computed.
  bool wanted(std::size_t i) const { return slots_[i] != nullptr; }

  /// Adds `gradient` to that of input i, if wanted.
  ///
  /// It may have the shape of any tensor that the input broadcasts to: what was broadcast is summed
  /// here, once for all ops. It is kept as it is where it is the first and nobody else holds it.
  void add(std::size_t i, Tensor gradient);

  /// Takes the gradient of input i so far out of its slot, undefined if there is none, for a backward
  /// that adds its own to it in the same pass and gives the total to `add`.
  Tensor take(std::size_t i);

  /// The gradient of input i so far (zeros at first), contiguous and in memory of its own, for a
  /// backward that adds to parts of it. Input i must require one.
  Tensor buffer(std::size_t i);

 private:
  const GradSlots& slots_;
};

/// Adds to `dx` what the gradient `dy` of an op's output means for its inputs.
using Backward = std::function<void(const Tensor& dy, Gradients& dx)>;

/// Whether nobody but this handle sees what is written into its elements: contiguous, and no other
/// handle on the memory.
bool is_own(const Tensor& x);

/// total += part, element by element; both of one shape and floating dtype.
void add_in_place(Tensor total, const Tensor& part);

/// The interface to which ops report: a tape (tensor/autograd/tape.h).
class Recorder {
 public:
  /// Makes `y` a variable computed from the inputs, of which those without a slot are constants.
  /// **Errors**: an input that another recording computed.
  virtual void record(const char* op, Tensor& y, GradSlots inputs, Backward backward) = 0;
  /// Whether nothing is recorded that is still to be used.
  virtual bool empty() const = 0;

 protected:
  ~Recorder() = default;
};

/// The recorder of this thread; null if there is none or recording is paused.
inline constinit thread_local Recorder* active_recorder = nullptr;

/// Whether what is computed from `x` is recorded.
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
