// What a model computes on its way, as values to look at.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::inspect {

/// Runs a model on some input: `[&] { model(tokens); }`.
using Run = std::function<void()>;
/// Runs a model and returns the number to be explained, a tensor of one element:
/// `[&] { return model(tokens).select(0, 0).select(0, 2); }`, the logit of class 2 of text 0.
using Score = std::function<Tensor()>;

/// The number without its history. **Errors**: more than one element.
double value_of(const Score& score);

/// The steps of `run` whose names match a pattern, in their order, without history. Packed rows are
/// padded again: (B, T, D).
std::vector<std::pair<std::string, Tensor>> record(const Run& run, const std::string& pattern);

/// The numbers of layers and of heads that a run computes. **Errors**: no attention; layers whose
/// numbers of heads differ.
struct HeadCounts {
  index_t layers;
  index_t heads;
};
HeadCounts count_heads(const Run& run);

}  // namespace tessera::inspect
