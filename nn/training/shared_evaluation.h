// Evaluates a model on several processes, which share the batches.
//
//   const nn::LossTotals totals = nn::evaluate(session.communicator(), model, {lengths, loss});
#pragma once

#include "nn/training/communicator.h"
#include "nn/training/evaluate.h"

namespace tessera::nn {

namespace detail {

/// As the evaluate() of several processes below, for a model that is already in eval mode.
LossTotals evaluate(Communicator& communicator, const Examples& examples,
                    const EvaluationOptions& options);

}  // namespace detail

/// As evaluate(model, examples, options), with the same bits. All processes call it together; each
/// computes a part of the batches, and all get the sums over all batches.
/// **Errors**: those of that function, thrown in all processes as by all_gather_results; processes
/// with different options or lengths; ProcessLost.
template <class M>
LossTotals evaluate(Communicator& communicator, M& model, const Examples& examples,
                    const EvaluationOptions& options = {}) {
  const EvalScope scope(model);
  return detail::evaluate(communicator, examples, options);
}

}  // namespace tessera::nn
