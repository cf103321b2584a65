#include "nn/training/evaluate.h"

#include "nn/training/batch_sampler.h"
#include "nn/training/detail/digest.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/indexing.h"
#include "tensor/profile_span.h"

namespace tessera::nn {

namespace {

std::uint64_t digest_of(const Tensor& x) {
  const Tensor rows = x.contiguous();
  Digest digest;
  digest.add(static_cast<std::uint64_t>(x.dtype()));
  for (index_t axis = 0; axis < x.rank(); ++axis) {
    digest.add(static_cast<std::uint64_t>(x.size(axis)));
  }
  const auto bytes = static_cast<std::size_t>(rows.count() * item_size(rows.dtype()));
  digest.add(std::span(static_cast<const std::byte*>(rows.untyped_data()), bytes));
  return digest.value();
}

}  // namespace

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

}  // namespace tessera::nn

namespace tessera::nn::detail {

std::vector<LossTotals> totals_of_batches(const Examples& examples,
                                          const EvaluationOptions& options, index_t first,
                                          index_t step) {
  const ProfileScope scope("evaluate");
  require(static_cast<bool>(examples.loss), "evaluate",
          "the examples must have a loss function, got an empty one");
  const NoGrad plain;
  BatchSampler sampler(examples.lengths, {.batch_size = options.batch_size, .shuffle = false});
  std::vector<LossTotals> all;
  for (index_t batch = 0; sampler.epoch() == 0; ++batch) {
    const std::span<const index_t> chosen = sampler.next();
    if (batch % step != first) continue;
    const RngScope random(evaluation_rng(options.seed, batch));
    all.push_back(totals_of(examples.loss(chosen)));
  }
  return all;
}

LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) {
  LossTotals totals;
  for (const LossTotals& batch : totals_of_batches(examples, options)) totals.add(batch);
  return totals;
}

}  // namespace tessera::nn::detail
