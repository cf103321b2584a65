#include "tessera/nn/training/detail/all_reduce.h"

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/nn/training/detail/multi_tensor.h"
#include "tessera/tensor/error.h"

namespace tessera::nn {

namespace {

constexpr const char* kRule = "all ranks must make the same calls of train()";

/// The bytes of a contiguous tensor.
std::string_view bytes_of(const Tensor& x) {
  return {static_cast<const char*>(x.untyped_data()),
          static_cast<std::size_t>(x.count() * item_size(x.dtype()))};
}

/// Appends the bytes of a value.
template <class T>
void append(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Removes the first bytes of a text from another process, and returns them.
std::string_view take(std::string_view& text, std::size_t size) {
  require(text.size() >= size, "all_reduce", "a text must have at least ", size,
          " more bytes, got ", text.size(), "; ", kRule);
  const std::string_view first = text.substr(0, size);
  text.remove_prefix(size);
  return first;
}

/// As take(text, size) with the size of a T, but returns the bytes as a T.
template <class T>
T take(std::string_view& text) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, take(text, sizeof(value)).data(), sizeof(value));
  return value;
}

/// As take(text, size) with the size of a contiguous tensor, but copies the bytes into the tensor.
void take(std::string_view& text, const Tensor& x) {
  const std::string_view bytes = take(text, bytes_of(x).size());
  if (!bytes.empty()) std::memcpy(detail::mutable_elements_of(x), bytes.data(), bytes.size());
}

/// The elements of a contiguous tensor that process `rank` of `size` adds, as a view.
Tensor part_of(const Tensor& x, index_t rank, index_t size) {
  const Share share = share_of(x.count(), rank, size);
  return x.reshape({x.count()}).slice(0, share.begin, share.end);
}

/// The subtrees of this process, with only those parts of the gradients that process `rank` adds.
std::string text_for(const ShardTree& mine, index_t rank, index_t size) {
  std::size_t bytes = 0;
  for (const auto& [node, sums] : mine.parts()) {
    bytes += sizeof(node) + sizeof(sums.totals) + sizeof(index_t) + sums.gradients.size();
    for (const Tensor& gradient : sums.gradients) {
      if (gradient.defined()) bytes += bytes_of(part_of(gradient, rank, size)).size();
    }
  }
  std::string text;
  text.reserve(bytes);
  for (const auto& [node, sums] : mine.parts()) {
    append(text, node);
    append(text, sums.totals);
    append(text, static_cast<index_t>(sums.gradients.size()));
    for (const Tensor& gradient : sums.gradients) {
      text += gradient.defined() ? '1' : '0';
      if (gradient.defined()) text += bytes_of(part_of(gradient, rank, size));
    }
  }
  return text;
}

/// The texts of all processes for this one, by rank. The gradients are freed before their texts are
/// sent: both are large.
std::vector<std::string> exchange(Communicator& communicator, ShardTree mine, index_t shards) {
  std::vector<std::string> texts;
  for (index_t rank = 0; rank < communicator.size(); ++rank) {
    texts.push_back(text_for(mine, rank, communicator.size()));
  }
  mine = ShardTree(shards);
  return communicator.all_to_all(std::vector<std::string_view>(texts.begin(), texts.end()));
}

/// The sums of all processes: of the losses, and of the parts of the gradients that process `rank`
/// of `size` adds.
ShardSums sum_of(const std::vector<std::string>& texts, const Parameters& variables, index_t shards,
                 index_t rank) {
  const auto size = std::ssize(texts);
  ShardTree tree(shards);
  for (const std::string& text : texts) {
    for (std::string_view left = text; !left.empty();) {
      const auto node = take<ShardNode>(left);
      ShardSums sums = {.totals = take<LossTotals>(left), .gradients = {}};
      const auto gradients = take<index_t>(left);
      require(gradients == std::ssize(variables), "all_reduce", "a process must have ",
              variables.size(), " variables, got ", gradients, "; ", kRule);
      for (const auto& [name, like] : variables) {
        Tensor& part = sums.gradients.emplace_back();
        if (take(left, 1) == "0") continue;
        const Share share = share_of(like.count(), rank, size);
        part = Tensor::empty({share.end - share.begin}, like.dtype());
        take(left, part);
      }
      tree.add(node, std::move(sums));
    }
  }
  return std::move(tree).total();
}

/// The whole gradients, of which each process has added a part.
std::vector<Tensor> gathered(Communicator& communicator, const Parameters& variables,
                             const std::vector<Tensor>& own) {
  const auto bytes_if_any = [](const Tensor& part) {
    return part.defined() ? bytes_of(part) : std::string_view();
  };
  std::size_t bytes = 0;
  for (const Tensor& part : own) bytes += bytes_if_any(part).size();
  std::string mine;
  mine.reserve(bytes);
  for (const Tensor& part : own) mine += bytes_if_any(part);
  const std::vector<std::string> texts = communicator.all_gather(mine);
  std::vector<std::string_view> left(texts.begin(), texts.end());
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    Tensor& gradient = gradients.emplace_back();
    if (!own[i].defined()) continue;
    const Tensor& like = variables[i].tensor;
    gradient = Tensor::empty(like.shape(), like.dtype());
    for (std::size_t r = 0; r < left.size(); ++r) {
      take(left[r], part_of(gradient, static_cast<index_t>(r), std::ssize(left)));
    }
  }
  for (const std::string_view text : left) {
    require(text.empty(), "all_reduce", "a text must have no more bytes, got ", text.size(), "; ",
            kRule);
  }
  return gradients;
}

}  // namespace

ShardSums all_reduce(Communicator& communicator, const Parameters& variables, index_t shards,
                     ShardTree mine) {
  ShardSums sums = sum_of(exchange(communicator, std::move(mine), shards), variables, shards,
                          communicator.rank());
  sums.gradients = gathered(communicator, variables, sums.gradients);
  return sums;
}

}  // namespace tessera::nn
