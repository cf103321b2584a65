#include "tessera/nn/training/evaluate.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "tessera/nn/dropout.h"
#include "tessera/nn/training/batch_sampler.h"
#include "tessera/nn/training/communicator.h"
#include "tessera/nn/training/detail/digest.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::nn {

Examples examples_of(const Tensor& inputs, const Tensor& targets,
                     std::function<LossSum(const Tensor& inputs, const Tensor& targets)> loss) {
  require(inputs.rank() > 0 && targets.rank() > 0 && inputs.size(0) == targets.size(0),
          "examples_of", "inputs and targets must have the same number of rows, got the shapes ",
          inputs.shape(), " and ", targets.shape());
  return {std::vector<index_t>(static_cast<std::size_t>(inputs.size(0)), 1),
          [inputs, targets, loss = std::move(loss)](std::span<const index_t> chosen) {
            const Tensor rows = from_vector(std::vector(chosen.begin(), chosen.end()));
            return loss(index_select(inputs, 0, rows), index_select(targets, 0, rows));
          },
          digest_of(inputs) ^ digest_of(targets) * 3};
}

EvalScope::EvalScope(const detail::Parts& parts, bool is_const) {
  for (const detail::Parts::Mode& mode : parts.modes) {
    require(!is_const || !mode.active, "evaluate",
            "a const model must be in eval mode, got training mode; call eval(model)");
    if (!is_const && *mode.training) training_.push_back(mode.training);
  }
  for (bool* const training : training_) *training = false;
}

}  // namespace tessera::nn

namespace tessera::nn::detail {

namespace {

/// The totals of all batches, in order, of which this process has computed `mine`.
std::vector<LossTotals> gathered(Communicator& communicator, index_t batches,
                                 const std::vector<LossTotals>& mine) {
  static_assert(std::is_trivially_copyable_v<LossTotals>);
  std::string bytes;
  for (const std::string& text : communicator.all_gather(
           {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(LossTotals)})) {
    bytes += text;
  }
  std::vector<LossTotals> all(static_cast<std::size_t>(batches));
  require(bytes.size() == all.size() * sizeof(LossTotals), "evaluate", "all ranks must send ",
          all.size() * sizeof(LossTotals), " bytes together, got ", bytes.size(),
          "; all ranks must make the same calls of train()");
  if (!bytes.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

}  // namespace

LossTotals evaluate(const Examples& examples, const EvaluationOptions& options,
                    Communicator* communicator) {
  const ProfileScope scope("evaluate");
  require(static_cast<bool>(examples.loss), "evaluate",
          "the examples must have a loss function, got an empty one");
  const NoGrad plain;
  const DropoutRefused refused;
  BatchSampler sampler(examples.lengths, {.batch_size = options.batch_size, .shuffle = false});
  const index_t batches = sampler.batches_per_epoch();
  const Share mine = communicator != nullptr ? share_of(batches, *communicator) : Share{0, batches};
  std::vector<LossTotals> all;
  for (index_t batch = 0; batch < mine.end; ++batch) {
    const std::span<const index_t> chosen = sampler.next();
    if (batch < mine.begin) continue;
    const RngScope random(evaluation_rng(options.seed, batch));
    all.push_back(totals_of(examples.loss(chosen)));
  }
  if (communicator != nullptr) all = gathered(*communicator, batches, all);
  LossTotals totals;
  for (const LossTotals& batch : all) totals.add(batch);
  return totals;
}

}  // namespace tessera::nn::detail
