#include "nn/training/exchange.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "nn/training/messages.h"
#include "tensor/error.h"

namespace tessera::nn {

using detail::bytes_of;
using detail::piece_of;
using detail::writable_bytes_of;

BatchSums sums_of(BatchTrees trees) {
  BatchSums sums;
  sums.totals = std::move(trees.totals).total();
  for (ShardTree<Tensor>& tree : trees.gradients) {
    sums.gradients.push_back(std::move(tree).total());
  }
  return sums;
}

Exchange::Exchange(Communicator& processes, const Parameters& variables,
                   std::span<const Chunk> chunks, index_t shards)
    : processes_(&processes),
      variables_(&variables),
      chunks_(chunks),
      shards_(shards),
      first_chunk_(variables.size() + 1, chunks.size()),
      zeros_(static_cast<std::size_t>(kChunkElements * item_size(kFloat64))) {
  for (index_t rank = 0; rank < processes.size(); ++rank) {
    const Share share = share_of(shards, rank, processes.size());
    nodes_.push_back(nodes_of(shards, share.begin, share.end));
  }
  for (std::size_t i = chunks.size(); i-- > 0;) {
    first_chunk_[static_cast<std::size_t>(chunks[i].parameter)] = i;
  }
  for (std::size_t i = variables.size(); i-- > 0;) {  // those without an element have no chunk
    first_chunk_[i] = std::min(first_chunk_[i], first_chunk_[i + 1]);
  }
  for (const Chunk& chunk : chunks_) {
    if (!is_own(chunk)) continue;
    Incoming incoming = {.chunk = &chunk, .sums = {}};
    const DType dtype = variables[static_cast<std::size_t>(chunk.parameter)].tensor.dtype();
    for (index_t rank = 0; rank < processes.size(); ++rank) {
      const std::size_t nodes =
          rank == processes.rank() ? 0 : nodes_[static_cast<std::size_t>(rank)].size();
      std::vector<Tensor>& sums = incoming.sums.emplace_back();
      for (std::size_t k = 0; k < nodes; ++k) sums.push_back(Tensor::empty({chunk.count}, dtype));
    }
    incoming_.push_back(std::move(incoming));
  }
}

// ---- gradients ----

void Exchange::begin() {
  is_sent_.assign(variables_->size(), false);
  for (const Incoming& incoming : incoming_) {
    for (std::size_t rank = 0; rank < incoming.sums.size(); ++rank) {
      for (const Tensor& sum : incoming.sums[rank]) {
        processes_->receive(static_cast<index_t>(rank), tag_of(*incoming.chunk),
                            writable_bytes_of(sum));
      }
    }
  }
}

void Exchange::send(std::size_t variable, std::span<const ShardTree<Tensor>::Part> parts) {
  is_sent_[variable] = true;
  const auto item = static_cast<std::size_t>(item_size((*variables_)[variable].tensor.dtype()));
  const std::size_t nodes = nodes_[static_cast<std::size_t>(processes_->rank())].size();
  for (std::size_t i = first_chunk_[variable]; i < first_chunk_[variable + 1]; ++i) {
    const Chunk& chunk = chunks_[i];
    if (is_own(chunk)) continue;
    for (std::size_t k = 0; k < nodes; ++k) {
      const bool is_defined = k < parts.size() && parts[k].sum.defined();
      processes_->send(chunk.owner, tag_of(chunk),
                       is_defined ? bytes_of(piece_of(parts[k].sum, chunk))
                                  : std::span<const std::byte>(zeros_).first(
                                        static_cast<std::size_t>(chunk.count) * item));
    }
  }
  processes_->progress();
}

BatchSums Exchange::finish(BatchTrees trees, const std::string& error) {
  for (std::size_t i = 0; i < variables_->size(); ++i) {
    if (!is_sent_[i]) send(i, trees.gradients[i].parts());
  }
  const std::vector<Report> reports = gather(own_report(trees, error));
  processes_->wait();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].error.empty()) continue;
    throw std::runtime_error(str_cat("rank ", rank, ": ", reports[rank].error));
  }
  BatchSums sums{.totals = total_of(reports), .gradients = {}};
  note_gradients(reports);
  for (std::size_t i = 0; i < variables_->size(); ++i) {
    sums.gradients.push_back(has_gradient_[i] ? room_for(i, trees) : Tensor());
  }
  for (const Incoming& incoming : incoming_) {
    const auto variable = static_cast<std::size_t>(incoming.chunk->parameter);
    if (!has_gradient_[variable]) continue;
    const Tensor sum = sum_of(incoming, trees, reports);
    Tensor own = piece_of(sums.gradients[variable], *incoming.chunk);
    if (own.untyped_data() != sum.untyped_data()) own.copy_from(sum);
  }
  return sums;
}

/// Notes which variables have a gradient at any process.
void Exchange::note_gradients(const std::vector<Report>& reports) {
  has_gradient_.assign(variables_->size(), false);
  for (const Report& report : reports) {
    for (const std::vector<bool>& is_defined : report.is_defined) {
      for (std::size_t i = 0; i < is_defined.size(); ++i) {
        if (is_defined[i]) has_gradient_[i] = true;
      }
    }
  }
}

/// A tensor of the variable's shape for finished sums: that of an own subtree, where one has any.
Tensor Exchange::room_for(std::size_t variable, const BatchTrees& trees) const {
  for (const auto& part : trees.gradients[variable].parts()) {
    if (part.sum.defined()) return part.sum;
  }
  const Tensor& like = (*variables_)[variable].tensor;
  return Tensor::empty(like.shape(), like.dtype());
}

/// The finished tree of one own chunk.
Tensor Exchange::sum_of(const Incoming& incoming, const BatchTrees& trees,
                        const std::vector<Report>& reports) const {
  const auto variable = static_cast<std::size_t>(incoming.chunk->parameter);
  ShardTree<Tensor> tree(shards_);
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    for (std::size_t k = 0; k < nodes_[rank].size(); ++k) {
      Tensor sum;
      if (reports[rank].is_defined[k][variable]) {
        sum = static_cast<index_t>(rank) == processes_->rank()
                  ? piece_of(trees.gradients[variable].parts()[k].sum, *incoming.chunk)
                  : incoming.sums[rank][k];
      }
      tree.add(nodes_[rank][k], std::move(sum));
    }
  }
  return std::move(tree).total();
}

// ---- what processes tell each other of a step ----

Exchange::Report Exchange::own_report(const BatchTrees& trees, const std::string& error) const {
  Report report{.totals = {}, .is_defined = {}, .error = error};
  if (!error.empty()) return report;
  for (const auto& part : trees.totals.parts()) report.totals.push_back(part.sum);
  for (std::size_t k = 0; k < report.totals.size(); ++k) {
    std::vector<bool>& is_defined = report.is_defined.emplace_back();
    for (const ShardTree<Tensor>& tree : trees.gradients) {
      is_defined.push_back(tree.parts()[k].sum.defined());
    }
  }
  return report;
}

/// An error after an '!', or the subtrees one after another: their totals, and a byte a variable.
std::string Exchange::packed(const Report& report) const {
  if (!report.error.empty()) return '!' + report.error;
  std::string text = " ";
  for (std::size_t k = 0; k < report.totals.size(); ++k) {
    detail::append(text, report.totals[k]);
    for (const bool is_defined : report.is_defined[k]) text += is_defined ? '\1' : '\0';
  }
  return text;
}

Exchange::Report Exchange::unpacked(std::string_view text, std::size_t process) const {
  Report report;
  const bool is_error = text.starts_with('!');
  text.remove_prefix(1);
  if (is_error) report.error = text;
  for (std::size_t k = 0; !is_error && k < nodes_[process].size(); ++k) {
    report.totals.push_back(detail::take<LossTotals>(text));
    std::vector<bool>& is_defined = report.is_defined.emplace_back();
    for (std::size_t i = 0; i < variables_->size(); ++i) is_defined.push_back(text[i] != '\0');
    text.remove_prefix(variables_->size());
  }
  return report;
}

std::vector<Exchange::Report> Exchange::gather(const Report& own) const {
  const std::vector<std::string> texts = processes_->all_gather(packed(own));
  std::vector<Report> reports;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    reports.push_back(unpacked(texts[rank], rank));
  }
  return reports;
}

LossTotals Exchange::total_of(const std::vector<Report>& reports) const {
  ShardTree<LossTotals> tree(shards_);
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    for (std::size_t k = 0; k < nodes_[rank].size(); ++k) {
      tree.add(nodes_[rank][k], reports[rank].totals[k]);
    }
  }
  return std::move(tree).total();
}

// ---- weights ----

void Exchange::share_weights() {
  for (const Chunk& chunk : chunks_) {
    const auto variable = static_cast<std::size_t>(chunk.parameter);
    if (!has_gradient_[variable]) continue;
    const Tensor weights = piece_of((*variables_)[variable].tensor, chunk);
    if (!is_own(chunk)) {
      processes_->receive(chunk.owner, tag_of(chunk), writable_bytes_of(weights));
      continue;
    }
    for (index_t rank = 0; rank < processes_->size(); ++rank) {
      if (rank != processes_->rank()) processes_->send(rank, tag_of(chunk), bytes_of(weights));
    }
  }
  processes_->wait();
}

}  // namespace tessera::nn
