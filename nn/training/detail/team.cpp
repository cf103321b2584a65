#include "nn/training/detail/team.h"

#include "nn/training/clip_grad.h"

namespace tessera::nn {

BatchSums Team::sum(const AddShard& add_shard) {
  BatchTrees trees(shards_, variables_.size());
  for (index_t shard = 0; shard < shards_; ++shard) add_shard(shard, trees);
  BatchSums sums{.totals = std::move(trees.totals).total(), .gradients = {}};
  for (ShardTree<Tensor>& tree : trees.gradients) {
    sums.gradients.push_back(std::move(tree).total());
  }
  return sums;
}

double Team::total(const Tensor& squares) const {
  return detail::total_of(squares);
}

LossTotals Team::evaluate(const Examples& examples, const EvaluationOptions& options) const {
  return detail::evaluate(examples, options);
}

}  // namespace tessera::nn
