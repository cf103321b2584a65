#include "nn/training/evaluate.h"

#include "nn/training/batch_sampler.h"
#include "tensor/autograd/tape.h"

namespace tessera::nn::detail {

LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) {
  const NoGrad plain;
  BatchSampler sampler(examples.lengths, {.batch_size = options.batch_size, .shuffle = false});
  LossTotals totals;
  for (index_t batch = 0; sampler.epoch() == 0; ++batch) {
    const RngScope random(evaluation_rng(options.seed, batch));
    totals.add(totals_of(examples.loss(sampler.next())));
  }
  return totals;
}

}  // namespace tessera::nn::detail
