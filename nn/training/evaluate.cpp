#include "nn/training/evaluate.h"

#include <array>
#include <cstring>
#include <string>

#include "nn/training/batch_sampler.h"
#include "tensor/autograd/tape.h"

namespace tessera::nn::detail {

namespace {

using Numbers = std::array<double, 3>;

std::string packed(const LossTotals& totals) {
  const Numbers numbers = {totals.loss, totals.count, totals.correct};
  std::string bytes(sizeof(numbers), '\0');
  std::memcpy(bytes.data(), numbers.data(), sizeof(numbers));
  return bytes;
}

LossTotals unpacked(const char* bytes) {
  Numbers numbers{};
  std::memcpy(numbers.data(), bytes, sizeof(numbers));
  return {numbers[0], numbers[1], numbers[2]};
}

/// The totals of every `step`th batch from `first` on, one after another.
std::string totals_of_batches(const Examples& examples, const EvaluationOptions& options,
                              index_t first, index_t step) {
  const NoGrad plain;
  BatchSampler sampler(examples.lengths, {.batch_size = options.batch_size, .shuffle = false});
  std::string all;
  for (index_t batch = 0; sampler.epoch() == 0; ++batch) {
    const std::span<const index_t> chosen = sampler.next();
    if (batch % step != first) continue;
    const RngScope random(evaluation_rng(options.seed, batch));
    all += packed(totals_of(examples.loss(chosen)));
  }
  return all;
}

}  // namespace

LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) {
  OneProcess alone;
  Communicator& processes = options.processes != nullptr ? *options.processes : alone;
  // By turns, because the longest batches come last.
  const std::vector<std::string> all = all_gather_results(processes, [&] {
    return totals_of_batches(examples, options, processes.rank(), processes.size());
  });
  LossTotals totals;
  // Each process has as many as the one before it, or one less: the first that lacks one ends it.
  for (std::size_t i = 0;; ++i) {
    const std::string& of_process = all[i % all.size()];
    const std::size_t at = i / all.size() * sizeof(Numbers);
    if (at >= of_process.size()) return totals;
    totals.add(unpacked(of_process.data() + at));
  }
}

}  // namespace tessera::nn::detail
