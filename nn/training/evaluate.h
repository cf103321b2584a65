// Evaluates a model on examples: computes the losses without dropout and without a tape.
//
//   const nn::LossTotals totals = nn::evaluate(model, {lengths, loss}, {.batch_size = 64});
//   totals.mean();
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/nn/module.h"
#include "tessera/nn/training/shards.h"

namespace tessera::nn {

class Communicator;

/// Examples of any kind, for training or evaluation: the length of each, so that examples of
/// similar length are batched together, and the function from indices of examples to the sum of
/// their losses.
struct Examples {
  std::vector<index_t> lengths;
  std::function<LossSum(std::span<const index_t> chosen)> loss;
  std::uint64_t digest = 0;  // of the contents of all examples, to recognise them; 0: unknown
};

/// The rows of two tensors as examples, each of length 1; `loss` gets the chosen rows of both
/// tensors.
///
///     nn::examples_of(x, y, [&](const Tensor& x, const Tensor& y) {
///       return nn::summed_cross_entropy(model(x), y);
///     });
/// **Shapes**: inputs (N, ...), targets (N, ...). **Errors**: no axis; different numbers of rows.
Examples examples_of(const Tensor& inputs, const Tensor& targets,
                     std::function<LossSum(const Tensor& inputs, const Tensor& targets)> loss);

/// While in scope, the module is in eval mode; afterwards each part has its mode from before.
/// **Errors**: a const module with a part in training mode, unless the part is not active(), such
/// as a Dropout with p = 0.
class EvalScope {
 public:
  template <class M>
  explicit EvalScope(M& module) : EvalScope(detail::parts_of(module), std::is_const_v<M>) {}
  ~EvalScope() {
    for (bool* const training : training_) *training = true;
  }
  EvalScope(EvalScope&& other) noexcept : training_(std::exchange(other.training_, {})) {}
  EvalScope& operator=(EvalScope&&) = delete;

 private:
  EvalScope(const detail::Parts& parts, bool is_const);

  std::vector<bool*> training_;
};

/// The options of evaluate().
struct EvaluationOptions {
  index_t batch_size = 32;
  std::uint64_t seed = 0;  // of default_rng() in the loss function, the same each time
};

namespace detail {

/// As nn::evaluate, for a model in eval mode. The processes of `communicator`, if there is one,
/// share the batches.
LossTotals evaluate(const Examples& examples, const EvaluationOptions& options,
                    Communicator* communicator = nullptr);

}  // namespace detail

/// The totals of all examples, computed in batches of examples of similar length. Meanwhile the
/// model is in eval mode, and the loss function must not replace its parts; afterwards the thread's
/// generator has its previous state.
/// **Errors**: as EvalScope, BatchSampler and totals_of; an empty loss function; those of the loss
/// function; a call of an active Dropout, which `visit` does not name, or which is part of a
/// different model.
template <class M>
LossTotals evaluate(M& model, const Examples& examples, const EvaluationOptions& options = {}) {
  const EvalScope scope(model);
  return detail::evaluate(examples, options);
}

}  // namespace tessera::nn
