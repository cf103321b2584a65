// Gradient checkpointing: memory for time.
//
//   Tape tape;
//   Tensor y = gradient_checkpoint([&](const Tensor& x) { return block(x); }, x);
//   tape.backward(sum(y));       // runs block once more, and gives the same bits as block(x) does
//
// Nothing that `block` computes on its way is kept for the backward: the tape gets one entry, which
// holds x and computes the rest again. (PyTorch's word for it; the checkpoints of nn/training/checkpoint.h
// are files.)
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// f(inputs), recorded as one op, whose backward computes f again under a tape of its own. Values,
/// gradients and random numbers have the bits that they have without.
///
/// f gets its inputs as arguments, and may read leaves (parameters) that it holds itself. Pass them
/// as further inputs too, even if f does not look at them: then a write to them before the backward
/// is an error. f is copied, and must do the same each time: a module that it reads must be a copy
/// in f, or not change until the backward. Random numbers must come from default_rng(). Where
/// no tape records, it is f(inputs).
///
/// **Errors**: a variable computed under this tape that f reads or returns and did not get as an
/// input; in backward, an input that was written to since.
/// **Source**: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016;
/// torch.utils.checkpoint.checkpoint.
Tensor gradient_checkpoint(const std::function<Tensor(std::span<const Tensor> inputs)>& f,
                           const std::vector<Tensor>& inputs);

/// The same for an f of one tensor. **Shapes**: those of f.
template <std::invocable<const Tensor&> F>
Tensor gradient_checkpoint(F f, const Tensor& x) {
  const auto of_first = [f = std::move(f)](std::span<const Tensor> in) { return f(in[0]); };
  return gradient_checkpoint(of_first, std::vector<Tensor>{x});
}

}  // namespace tessera
