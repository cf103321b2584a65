#include "nn/training/detail/all_reduce.h"

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "nn/training/detail/multi_tensor.h"
#include "tensor/error.h"

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

/// The bytes of all tensors that are defined.
std::string text_of(const std::vector<Tensor>& tensors) {
  std::size_t size = 0;
  for (const Tensor& x : tensors) size += x.defined() ? bytes_of(x).size() : 0;
  std::string text;
  text.reserve(size);
  for (const Tensor& x : tensors) text += x.defined() ? bytes_of(x) : std::string_view();
  return text;
}

constexpr const char* kRule = "all ranks must make the same calls of run()";

/// Removes the first bytes of a text from another process, and returns them.
std::string_view take(std::string_view& text, std::size_t size) {
  require(text.size() >= size, "all_reduce", "a text must have at least ", size,
          " more bytes, got ", text.size(), "; ", kRule);
  const std::string_view first = text.substr(0, size);
  text.remove_prefix(size);
  return first;
}

/// As above, into a contiguous tensor.
void take(std::string_view& text, const Tensor& x) {
  const std::string_view bytes = take(text, bytes_of(x).size());
  if (!bytes.empty()) std::memcpy(detail::mutable_elements_of(x), bytes.data(), bytes.size());
}

void require_empty(const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) {
    require(text.empty(), "all_reduce", "a text must have no more bytes, got ", text.size(), "; ",
            kRule);
  }
}

/// The elements of a contiguous tensor that process `rank` of `size` adds, as a view.
Tensor part_of(const Tensor& x, index_t rank, index_t size) {
  const Share share = share_of(x.count(), rank, size);
  return x.reshape({x.count()}).slice(0, share.begin, share.end);
}

/// Appends the bytes of a value.
template <class T>
void append(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
/// Removes the bytes of a value from the beginning of a text, and returns the value.
template <class T>
T take(std::string_view& text) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, take(text, sizeof(value)).data(), sizeof(value));
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
      of_process.push_back({node, totals, std::string(take(left, mine.gradients.size()))});
    }
  }
  return subtrees;
}

/// The parts of the gradients of all subtrees of this process that process `rank` adds.
std::string parts_for(const ShardSums& mine, index_t rank, index_t size) {
  std::vector<Tensor> parts;
  for (const auto& tree : mine.gradients) {
    for (const auto& [node, sum] : tree.parts()) {
      if (sum.defined()) parts.push_back(part_of(sum, rank, size));
    }
  }
  return text_of(parts);
}

/// The parts of the gradients of all processes that this process adds, by rank. The gradients are
/// freed before they are sent, and the sent texts at the end: all are large.
std::vector<std::string> exchange_parts(Communicator& communicator, ShardSums mine) {
  std::vector<std::string> parts;
  for (index_t rank = 0; rank < communicator.size(); ++rank) {
    parts.push_back(parts_for(mine, rank, communicator.size()));
  }
  mine.gradients.clear();
  return communicator.all_to_all(std::vector<std::string_view>(parts.begin(), parts.end()));
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
                     ShardSums mine) {
  const index_t rank = communicator.rank(), size = communicator.size();
  const Subtrees subtrees = all_subtrees(communicator, mine);
  ShardTree<LossTotals> totals(shards);
  for (const auto& of_process : subtrees) {
    for (const Subtree& subtree : of_process) totals.add(subtree.node, subtree.totals);
  }
  BatchSums sums{.totals = std::move(totals).total(), .gradients = {}};

  std::vector<std::string> texts = exchange_parts(communicator, std::move(mine));
  std::vector<std::string_view> left(texts.begin(), texts.end());
  std::vector<Tensor> own;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor& like = variables[i].tensor;
    const Share share = share_of(like.count(), rank, size);
    own.push_back(sum_of_parts(shards, subtrees, i, share.end - share.begin, like.dtype(), left));
  }
  require_empty(left);
  texts.clear();

  texts = communicator.all_gather(text_of(own));
  left.assign(texts.begin(), texts.end());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Tensor& like = variables[i].tensor;
    const bool is_defined = own[i].defined();
    sums.gradients.push_back(is_defined ? Tensor::empty(like.shape(), like.dtype()) : Tensor());
    for (index_t r = 0; is_defined && r < size; ++r) {
      take(left[static_cast<std::size_t>(r)], part_of(sums.gradients[i], r, size));
    }
  }
  require_empty(left);
  return sums;
}

}  // namespace tessera::nn
