#include "nn/training/shared_evaluation.h"

#include <string>
#include <string_view>
#include <vector>

#include "nn/training/detail/agreement.h"
#include "nn/training/detail/messages.h"

namespace tessera::nn::detail {

LossTotals evaluate(Communicator& communicator, const Examples& examples,
                    const EvaluationOptions& options) {
  require_agreement(
      communicator, "evaluate",
      {{"batch_size", std::to_string(options.batch_size)},
       {"seed", std::to_string(options.seed)},
       {"digest of the examples' lengths", std::to_string(digest_of(examples.lengths))}});
  // Processes take batches in turn, because the longest batches come last.
  const std::vector<std::string> all = all_gather_results(communicator, [&] {
    std::string mine;
    for (const LossTotals& totals :
         totals_of_batches(examples, options, communicator.rank(), communicator.size())) {
      append(mine, totals);
    }
    return mine;
  });
  std::vector<std::string_view> left(all.begin(), all.end());
  LossTotals totals;
  // Each process has as many totals as the previous one, or one less: the first without a total
  // ends it.
  for (std::size_t i = 0;; ++i) {
    std::string_view& of_process = left[i % left.size()];
    if (of_process.empty()) return totals;
    totals.add(take<LossTotals>(of_process));
  }
}

}  // namespace tessera::nn::detail
