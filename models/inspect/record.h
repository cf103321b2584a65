// Records the intermediate results of a model.
//
// **Errors** of all functions that call a Forward or a Score: also the exceptions of the Forward or
// Score.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::inspect {

/// Runs a model on some input: `[&] { model(tokens); }`.
using Forward = std::function<void()>;
/// Runs a model and returns the number to explain, a tensor of one element:
/// `[&] { return model(tokens).select(0, 0).select(0, 2); }`, the logit of class 2 of text 0.
using Score = std::function<Tensor()>;

/// The value of a score, computed without a tape. **Errors**: a number of elements other than one.
double value_of(const Score& score);

/// The names and values of the hook points of `run` whose names match a pattern of nn::Hook, in the
/// order of computation. Values are detached, and unpadded rows are padded again: (B, T, D). A run
/// of several batches gives each once per batch.
std::vector<std::pair<std::string, Tensor>> record(const Forward& run, const std::string& pattern);

/// The layers of a model and the heads of each.
struct HeadCounts {
  index_t layers;
  index_t heads;
};
/// The numbers of layers and heads of the model that `run` calls, in any number of batches. A layer
/// that is computed several times in a batch, such as that of ALBERT, counts each time.
/// **Errors**, which begin with `op`: no attention; a layer with a custom attention; layers with
/// different numbers of heads.
HeadCounts count_heads(const char* op, const Forward& run);

/// Computes a score, runs backward from it once, and returns its value. **Errors**, which begin
/// with `op`: a number of elements other than one; a score that has no gradient.
double backward(const char* op, const Score& score);

}  // namespace tessera::inspect
