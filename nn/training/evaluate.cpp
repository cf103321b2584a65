#include "nn/training/evaluate.h"

#include <string>
#include <string_view>
#include <vector>

#include "nn/training/agreement.h"
#include "nn/training/batch_sampler.h"
#include "nn/training/messages.h"
#include "tensor/autograd/tape.h"
#include "tensor/error.h"

namespace tessera::nn::detail {

namespace {

/// The totals of every `step`th batch from `first` on, one after another.
std::string totals_of_batches(const Examples& examples, const EvaluationOptions& options,
                              index_t first, index_t step) {
  require(static_cast<bool>(examples.loss), "evaluate",
          "the examples must have a loss function, got an empty one");
  const NoGrad plain;
  BatchSampler sampler(examples.lengths, {.batch_size = options.batch_size, .shuffle = false});
  std::string all;
  for (index_t batch = 0; sampler.epoch() == 0; ++batch) {
    const std::span<const index_t> chosen = sampler.next();
    if (batch % step != first) continue;
    const RngScope random(evaluation_rng(options.seed, batch));
    append(all, totals_of(examples.loss(chosen)));
  }
  return all;
}

}  // namespace

LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) {
  OneProcess alone;
  Communicator& processes = options.processes != nullptr ? *options.processes : alone;
  if (processes.size() > 1) {
    require_agreement(
        processes, "evaluate",
        {{"batch_size", std::to_string(options.batch_size)},
         {"seed", std::to_string(options.seed)},
         {"digest of the examples' lengths", std::to_string(digest_of(examples.lengths))}});
  }
  // By turns, because the longest batches come last.
  const std::vector<std::string> all = all_gather_results(processes, [&] {
    return totals_of_batches(examples, options, processes.rank(), processes.size());
  });
  std::vector<std::string_view> left(all.begin(), all.end());
  LossTotals totals;
  // Each process has as many as the one before it, or one less: the first that lacks one ends it.
  for (std::size_t i = 0;; ++i) {
    std::string_view& of_process = left[i % left.size()];
    if (of_process.empty()) return totals;
    totals.add(take<LossTotals>(of_process));
  }
}

}  // namespace tessera::nn::detail
