#include "nn/training/detail/all_reduce.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "nn/training/detail/multi_tensor.h"

namespace tessera::nn {

namespace {

/// A subtree of the shards that a process has computed.
struct Subtree {
  ShardNode node;
  LossTotals totals;
  std::string has_gradient;  // '1' or '0' for each variable
};

/// The subtrees of all processes, by rank.
using Subtrees = std::vector<std::vector<Subtree>>;

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

/// Appends the bytes of a value, or copies them from the first bytes of a text, and removes them.
template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <class T>
T take(std::string_view& text) {
  T value;
  std::memcpy(&value, text.data(), sizeof(value));
  text.remove_prefix(sizeof(value));
  return value;
}

/// All processes tell each other their subtrees.
Subtrees all_subtrees(Communicator& communicator, const ShardSums& mine) {
  std::string text;
  for (std::size_t k = 0; k < mine.totals.parts().size(); ++k) {
    append(text, mine.totals.parts()[k]);
    for (const auto& tree : mine.gradients) text += tree.parts()[k].sum.defined() ? '1' : '0';
  }
  Subtrees subtrees;
  for (const std::string& received : communicator.all_gather(text)) {
    auto& of_process = subtrees.emplace_back();
    for (std::string_view left = received; !left.empty();) {
      const auto [node, totals] = take<ShardTree<LossTotals>::Part>(left);
      of_process.push_back({node, totals, std::string(left.substr(0, mine.gradients.size()))});
      left.remove_prefix(mine.gradients.size());
    }
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

/// The sum of the parts of one gradient, which are the first of each process's texts.
Tensor sum_of_parts(index_t shards, const Subtrees& subtrees, std::size_t variable, index_t count,
                    DType dtype, std::vector<std::string_view>& texts) {
  ShardTree<Tensor> tree(shards);
  for (std::size_t rank = 0; rank < subtrees.size(); ++rank) {
    for (const Subtree& subtree : subtrees[rank]) {
      Tensor part;
      if (subtree.has_gradient[variable] == '1') {
        part = Tensor::empty({count}, dtype);
        take(texts[rank], part);
      }
      tree.add(subtree.node, std::move(part));
    }
  }
  return std::move(tree).total();
}

}  // namespace

BatchSums total_of(ShardSums mine) {
  BatchSums sums{.totals = std::move(mine.totals).total(), .gradients = {}};
  for (auto& tree : mine.gradients) sums.gradients.push_back(std::move(tree).total());
  return sums;
}

BatchSums all_reduce(Communicator& communicator, const Parameters& variables, index_t shards,
                     const ShardSums& mine) {
  const index_t rank = communicator.rank(), size = communicator.size();
  const Subtrees subtrees = all_subtrees(communicator, mine);
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
