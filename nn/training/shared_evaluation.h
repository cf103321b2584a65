// An evaluation whose batches several processes share.
//
//   const nn::LossTotals totals = nn::evaluate(session.processes(), model, {lengths, loss});
#pragma once

#include "nn/training/communicator.h"
#include "nn/training/evaluate.h"

namespace tessera::nn {

namespace detail {

/// As below, of a model that is in eval mode.
LossTotals evaluate(Communicator& processes, const Examples& examples,
                    const EvaluationOptions& options);

}  // namespace detail

/// As evaluate(model, examples, options), with the same bits: all processes call it together, each
/// computes a part of the batches, and all get the sums of all.
/// **Errors**: those of one process, at all; different options or lengths.
template <class M>
LossTotals evaluate(Communicator& processes, M& model, const Examples& examples,
                    const EvaluationOptions& options = {}) {
  const EvalScope scope(model);
  return detail::evaluate(processes, examples, options);
}

}  // namespace tessera::nn
