#include "tessera/nn/training/loss_sum.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/create.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/ops/ops.h"

namespace tessera::nn {

namespace {

double count_true(const Tensor& x) {
  return sum(x.to(kInt64)).item();
}

}  // namespace

LossSum summed_mean(const Tensor& mean, double count, double correct) {
  return {mean * count, count, correct};
}

LossSum summed_cross_entropy(const Tensor& scores, const Tensor& targets,
                             CrossEntropyOptions options) {
  require(!options.weight.defined(), "summed_cross_entropy",
          "options.weight must be undefined, got a tensor; for weighted classes return a LossSum "
          "of your own, whose count is the sum of the targets' weights");
  options.reduction = Reduction::kSum;
  const Tensor loss = cross_entropy(scores, targets, options);
  const Tensor counted = ne(targets, options.ignore_index);
  const Tensor right = eq(argmax(scores.detach(), {-1}), targets);
  const bool is_nan = std::isnan(loss.detach().item());  // then argmax chose a NaN
  return {loss, count_true(counted),
          is_nan ? std::nan("") : count_true(logical_and(counted, right))};
}

LossSum summed_squared_error(const Tensor& x, const Tensor& targets) {
  const Tensor loss = mse_loss(x, targets, Reduction::kSum);
  return {loss, static_cast<double>(x.count())};
}

LossSum summed_info_nce(const Tensor& queries, const Tensor& keys, InfoNceOptions options) {
  options.reduction = Reduction::kSum;
  const Tensor loss = info_nce_loss(queries, keys, options);
  // The nearest key does not depend on the length of a query.
  Tensor k = keys.detach();
  if (options.normalize) k = k / maximum(norm(k, {-1}, true), 1e-12);
  const Tensor nearest = argmax(matmul(queries.detach(), k.t()), {-1});
  const index_t count = queries.size(0);
  return {loss, static_cast<double>(count), count_true(eq(nearest, arange(count)))};
}

void LossTotals::add(const LossTotals& other) {
  loss += other.loss;
  count += other.count;
  correct += other.correct;
}

LossTotals totals_of(const LossSum& sum) {
  if (!(sum.count >= 0 && std::isfinite(sum.count))) {
    fail("LossSum", "count must be finite and at least 0, got ",
         std::isnan(sum.count) ? "NaN, or no count" : shortest(sum.count),
         "; return {sum of the losses, number of targets}, or summed_mean(mean of the losses, "
         "number of targets)");
  }
  if (sum.count == 0) return {};
  require(sum.loss.defined(), "LossSum", "loss must be defined, got an undefined tensor");
  require(sum.loss.count() == 1, "LossSum",
          "loss must have 1 element, the sum of the losses, got shape ", sum.loss.shape(),
          "; use Reduction::kSum or sum()");
  require(std::isfinite(1 / sum.count), "LossSum", "count must be 0 or at least 1e-300, got ",
          sum.count);
  // Both may be sums of weights, rounded.
  const bool fits =
      std::isnan(sum.correct) || (sum.correct >= 0 && sum.correct <= 1.001 * sum.count);
  require(fits, "LossSum", "correct must be from 0 to count, ", sum.count, ", got ", sum.correct);
  return {sum.loss.item(), sum.count, std::min(sum.correct, sum.count)};
}

}  // namespace tessera::nn
