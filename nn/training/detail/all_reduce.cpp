#include "nn/training/detail/all_reduce.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "nn/training/detail/multi_tensor.h"

namespace tessera::nn {

namespace {

/// What a process says about one of its subtrees.
struct Subtree {
  ShardNode node;
  LossTotals totals;
  std::vector<bool> has_gradient;  // by variable
};

/// The bytes of a contiguous tensor.
std::string_view bytes_of(const Tensor& x) {
  return {static_cast<const char*>(x.untyped_data()),
          static_cast<std::size_t>(x.count() * item_size(x.dtype()))};
}

/// Copies the first bytes of a text into a contiguous tensor, and removes them from the text.
void take(std::string_view& text, const Tensor& x) {
  const std::size_t size = bytes_of(x).size();
  if (size > 0) std::memcpy(detail::mutable_elements_of(x), text.data(), size);
  text.remove_prefix(size);
}

/// The elements of a contiguous tensor that process `rank` of `size` adds, as a view.
Tensor part_of(const Tensor& x, index_t rank, index_t size) {
  const Share share = share_of(x.count(), rank, size);
  return x.reshape({x.count()}).slice(0, share.begin, share.end);
}

/// The totals of each subtree, and one byte for each variable.
std::string description_of(const ShardSums& sums) {
  std::string text;
  for (std::size_t k = 0; k < sums.totals.parts().size(); ++k) {
    const LossTotals& totals = sums.totals.parts()[k].sum;
    text.append(reinterpret_cast<const char*>(&totals), sizeof(totals));
    for (const auto& tree : sums.gradients) text += tree.parts()[k].sum.defined() ? '\1' : '\0';
  }
  return text;
}

/// Reads the description of a process, whose subtrees are `nodes`.
std::vector<Subtree> subtrees_of(std::string_view text, const std::vector<ShardNode>& nodes,
                                 std::size_t variables) {
  std::vector<Subtree> subtrees;
  for (const ShardNode& node : nodes) {
    Subtree& subtree = subtrees.emplace_back();
    subtree.node = node;
    std::memcpy(&subtree.totals, text.data(), sizeof(LossTotals));
    text.remove_prefix(sizeof(LossTotals));
    for (std::size_t i = 0; i < variables; ++i) subtree.has_gradient.push_back(text[i] != '\0');
    text.remove_prefix(variables);
  }
  return subtrees;
}

/// The parts of the gradients of all subtrees of this process, by the process that adds them.
std::vector<std::string> parts_by_process(const ShardSums& mine, index_t size) {
  std::vector<std::string> parts(static_cast<std::size_t>(size));
  for (const auto& tree : mine.gradients) {
    for (const auto& [node, sum] : tree.parts()) {
      for (index_t rank = 0; sum.defined() && rank < size; ++rank) {
        parts[static_cast<std::size_t>(rank)] += bytes_of(part_of(sum, rank, size));
      }
    }
  }
  return parts;
}

}  // namespace

BatchSums total_of(ShardSums mine) {
  BatchSums sums{.totals = std::move(mine.totals).total(), .gradients = {}};
  for (auto& tree : mine.gradients) sums.gradients.push_back(std::move(tree).total());
  return sums;
}

namespace {

/// The subtrees of all processes, by rank.
using Subtrees = std::vector<std::vector<Subtree>>;

Subtrees exchange_descriptions(Communicator& communicator, index_t shards, const ShardSums& mine) {
  Subtrees subtrees;
  for (const std::string& text : communicator.all_gather(description_of(mine))) {
    const Share share = share_of(shards, std::ssize(subtrees), communicator.size());
    const std::vector<ShardNode> nodes = nodes_of(shards, share.begin, share.end);
    subtrees.push_back(subtrees_of(text, nodes, mine.gradients.size()));
  }
  return subtrees;
}

/// The sum of the parts of one gradient, which are the first of each process's texts.
Tensor sum_of_parts(index_t shards, const Subtrees& subtrees, std::size_t variable, index_t count,
                    DType dtype, std::vector<std::string_view>& texts) {
  ShardTree<Tensor> tree(shards);
  for (std::size_t rank = 0; rank < subtrees.size(); ++rank) {
    for (const Subtree& subtree : subtrees[rank]) {
      Tensor part;
      if (subtree.has_gradient[variable]) {
        part = Tensor::empty({count}, dtype);
        take(texts[rank], part);
      }
      tree.add(subtree.node, std::move(part));
    }
  }
  return std::move(tree).total();
}

}  // namespace

BatchSums all_reduce(Communicator& communicator, const Parameters& variables, index_t shards,
                     const ShardSums& mine) {
  const index_t rank = communicator.rank(), size = communicator.size();
  const Subtrees subtrees = exchange_descriptions(communicator, shards, mine);
  ShardTree<LossTotals> totals(shards);
  for (const auto& of_process : subtrees) {
    for (const Subtree& subtree : of_process) totals.add(subtree.node, subtree.totals);
  }
  BatchSums sums{.totals = std::move(totals).total(), .gradients = {}};

  const std::vector<std::string> parts = parts_by_process(mine, size);
  std::vector<std::string> texts =
      communicator.all_to_all(std::vector<std::string_view>(parts.begin(), parts.end()));
  std::vector<std::string_view> left(texts.begin(), texts.end());
  std::string own;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor& like = variables[i].tensor;
    const Share share = share_of(like.count(), rank, size);
    const Tensor sum =
        sum_of_parts(shards, subtrees, i, share.end - share.begin, like.dtype(), left);
    if (sum.defined()) own += bytes_of(sum);
    sums.gradients.push_back(sum.defined() ? Tensor::empty(like.shape(), like.dtype()) : Tensor());
  }

  texts = communicator.all_gather(own);
  left.assign(texts.begin(), texts.end());
  for (const Tensor& gradient : sums.gradients) {
    for (index_t r = 0; gradient.defined() && r < size; ++r) {
      take(left[static_cast<std::size_t>(r)], part_of(gradient, r, size));
    }
  }
  return sums;
}

}  // namespace tessera::nn
