// Gradient checkpointing: saves memory, takes more time.
//
//   Tape tape;
//   Tensor y = gradient_checkpoint([&](const Tensor& x) { return block(x); }, x);
//   tape.backward(sum(y));       // runs block once more: bitwise equal to block(x)
//
// The intermediate results of `block` are not kept for the backward: the tape gets one entry, which
// holds x, and whose backward runs `block` again. (The name is PyTorch's; the checkpoints of
// nn/training/checkpoint.h are files.)
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// f(inputs), recorded as one op, whose backward runs f again under a tape of its own. Values,
/// gradients and random numbers are bitwise equal to those without a checkpoint.
///
/// f gets its inputs as arguments, and may read leaves (parameters) that it captures. Pass these
/// leaves as inputs too, even if f ignores the arguments: then a write to a leaf before the
/// backward is an error. f is copied, and must do the same in each run: capture a copy of any
/// module that may change before the backward. Random numbers must come from default_rng(). If no
/// tape records, the result is f(inputs).
///
/// **Errors**: the errors of f; f reads or returns a variable that is not an input and that a
/// recorded op outside f computed; an input that a different tape recorded; in backward, an input
/// that was written to after this call, or an f that returns a constant or a different shape.
/// **Source**: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016;
/// torch.utils.checkpoint.checkpoint.
Tensor gradient_checkpoint(const std::function<Tensor(std::span<const Tensor> inputs)>& f,
                           const std::vector<Tensor>& inputs);

/// The same for an f of one tensor. **Shapes**: those of f. **Errors**: as above.
template <std::invocable<const Tensor&> F>
Tensor gradient_checkpoint(F f, const Tensor& x) {
  const auto of_first = [f = std::move(f)](std::span<const Tensor> in) { return f(in[0]); };
  return gradient_checkpoint(of_first, std::vector<Tensor>{x});
}

}  // namespace tessera
