#include "nn/training/detail/exchange.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "nn/training/clip_grad.h"
#include "nn/training/detail/agreement.h"
#include "nn/training/detail/messages.h"
#include "nn/training/shared_evaluation.h"
#include "tensor/error.h"

namespace tessera::nn {

using detail::bytes_of;
using detail::mutable_bytes_of;
using detail::piece_of;

static_assert(kChunkElements % detail::kNormBlock == 0,
              "the blocks of chunks are those of whole gradients");

namespace {

constexpr const char* kExchangeOp = "Trainer";

std::size_t chunks_in(index_t elements) {
  return static_cast<std::size_t>((elements + kChunkElements - 1) / kChunkElements);
}

}  // namespace

std::unique_ptr<Team> make_team(Communicator* communicator, Optimizer& optimizer, index_t shards) {
  if (communicator == nullptr || communicator->size() == 1) {
    return std::make_unique<Team>(optimizer, shards);
  }
  return std::make_unique<Exchange>(*communicator, optimizer, shards);
}

Exchange::Exchange(Communicator& communicator, Optimizer& optimizer, index_t shards)
    : Team(optimizer, shards),
      communicator_(&communicator),
      optimizer_(&optimizer),
      owned_(optimizer, communicator),
      first_chunk_{0},
      zeros_(static_cast<std::size_t>(kChunkElements * item_size(kFloat64))) {
  check(optimizer);
  for (index_t rank = 0; rank < communicator.size(); ++rank) {
    const Share share = share_of(shards, rank, communicator.size());
    nodes_.push_back(nodes_of(shards, share.begin, share.end));
  }
  for (const Parameter& variable : variables())
    first_chunk_.push_back(first_chunk_.back() + chunks_in(variable.tensor.count()));
  for (const auto& [chunk, parameter] : owned_.views()) {
    Incoming& incoming = incoming_.emplace_back();
    for (index_t other = 0; other < communicator.size(); ++other) {
      const bool sends = other != rank() && chunk.count > 0;
      const std::size_t nodes = sends ? nodes_[static_cast<std::size_t>(other)].size() : 0;
      std::vector<Tensor>& sums = incoming.emplace_back();
      for (std::size_t k = 0; k < nodes; ++k) {
        sums.push_back(Tensor::empty({chunk.count}, parameter.tensor.dtype()));
      }
    }
  }
  owned_.give_to(optimizer);
}

void Exchange::check(const Optimizer& optimizer) const {
  const index_t size = communicator_->size();
  require(size <= shards(), kExchangeOp, "processes must be at most as many as shards, ", shards(),
          ", got ", size, "; use ", size,
          " or more shards, which gives different bits, or fewer processes");
  NamedTexts facts = {{"the optimiser", optimizer.name()}};
  for (const auto& [name, tensor] : variables()) {
    facts.emplace_back("parameter " + name, str_cat(tensor.dtype(), ' ', tensor.shape()));
  }
  for (const auto& [name, value] : optimizer.settings().values) facts.emplace_back(name, value);
  require_agreement(*communicator_, kExchangeOp, facts);
  constexpr index_t kMost = Communicator::kMostTags / 2;
  require(std::ssize(owned_.chunks()) <= kMost, kExchangeOp, "the parameters must have at most ",
          kMost, " chunks of ", kChunkElements, " elements, got ", owned_.chunks().size());
}

index_t Exchange::tag_of(const Chunk& chunk) const {
  return static_cast<index_t>(first_chunk_[static_cast<std::size_t>(chunk.parameter)]) +
         chunk.begin / kChunkElements;
}

void Exchange::run(const Run& run) {
  try {
    require_agreement(*communicator_, kExchangeOp, facts_of_run(run.facts(), run.state()));
    run.body();
  } catch (const ProcessLost& lost) {
    throw ProcessLost(str_cat(kExchangeOp, ": ", lost.what(), "; the run ends ", run.place()));
  }
}

bool Exchange::any(bool value) const {
  const std::vector<std::string> all = communicator_->all_gather(value ? "1" : "0");
  return std::find(all.begin(), all.end(), "1") != all.end();
}

LossTotals Exchange::evaluate(const Examples& examples, const EvaluationOptions& options) const {
  return detail::evaluate(*communicator_, examples, options);
}

// ---- gradients ----

BatchSums Exchange::sum(const AddShard& add_shard) {
  begin();
  BatchTrees trees(shards(), variables().size());
  const Share share = share_of(shards(), *communicator_);
  std::string error;
  try {
    // The optimiser holds views, which convert and freeze do not mark.
    for (const Parameter& variable : variables()) {
      detail::require_current(optimizer_->name(), variable);
    }
    for (index_t shard = share.begin; shard < share.end; ++shard) {
      if (shard + 1 == share.end) {
        trees.on_add = [&](std::size_t variable) { send(variable, trees); };
      }
      add_shard(shard, trees);
    }
  } catch (const ProcessLost&) {
    throw;
  } catch (const std::exception& failure) {
    error = failure.what();  // the others wait for this process's messages and its error
    if (error.empty()) error = "the loss function threw an exception without a text";
  } catch (...) {
    error = "the loss function threw an exception that is not a std::exception";
  }
  return finish(trees, error);
}

/// Begins to receive the messages of the other processes.
void Exchange::begin() {
  is_sent_.assign(variables().size(), false);
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    const Chunk& chunk = owned_.views()[i].chunk;
    for (std::size_t other = 0; other < incoming_[i].size(); ++other) {
      for (const Tensor& sum : incoming_[i][other]) {
        communicator_->receive(static_cast<index_t>(other), tag_of(chunk), mutable_bytes_of(sum));
      }
    }
  }
}

/// Sends the chunks of a variable to their owners, for each subtree of this process, once all of
/// its shards are added. Missing parts and undefined sums are sent as zeros, which are never added.
void Exchange::send(std::size_t variable, const BatchTrees& trees) {
  is_sent_[variable] = true;
  const auto parts = trees.gradients[variable].parts();
  const auto item = static_cast<std::size_t>(item_size(variables()[variable].tensor.dtype()));
  const std::size_t nodes = nodes_[static_cast<std::size_t>(rank())].size();
  for (std::size_t i = first_chunk_[variable]; i < first_chunk_[variable + 1]; ++i) {
    const Chunk& chunk = owned_.chunks()[i];
    if (is_own(chunk)) continue;
    for (std::size_t k = 0; k < nodes; ++k) {
      const bool is_defined = k < parts.size() && parts[k].sum.defined();
      communicator_->send(chunk.owner, tag_of(chunk),
                          is_defined ? bytes_of(piece_of(parts[k].sum, chunk))
                                     : std::span<const std::byte>(zeros_).first(
                                           static_cast<std::size_t>(chunk.count) * item));
    }
  }
  communicator_->progress();
}

/// Sends the remaining messages, waits for the others, and finishes the trees. `error` is why this
/// process could not compute its shards, or empty.
BatchSums Exchange::finish(const BatchTrees& trees, const std::string& error) {
  for (std::size_t i = 0; i < variables().size(); ++i) {
    if (!is_sent_[i]) send(i, trees);
  }
  const std::vector<Report> reports = gather(own_report(trees, error));
  communicator_->wait();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (reports[rank].error.empty()) continue;
    throw std::runtime_error(str_cat("rank ", rank, ": ", reports[rank].error));
  }
  BatchSums sums{.totals = total_of(reports), .gradients = {}};
  note_gradients(reports);
  for (std::size_t i = 0; i < incoming_.size(); ++i) {
    const auto variable = static_cast<std::size_t>(owned_.views()[i].chunk.parameter);
    sums.gradients.push_back(has_gradient_[variable] ? sum_of(i, trees, reports) : Tensor());
  }
  return sums;
}

/// Records which variables have a gradient in any process.
void Exchange::note_gradients(const std::vector<Report>& reports) {
  has_gradient_.assign(variables().size(), false);
  for (const Report& report : reports) {
    for (const std::vector<bool>& is_defined : report.is_defined) {
      for (std::size_t i = 0; i < is_defined.size(); ++i) {
        if (is_defined[i]) has_gradient_[i] = true;
      }
    }
  }
}

/// The finished tree of an own view.
Tensor Exchange::sum_of(std::size_t view, const BatchTrees& trees,
                        const std::vector<Report>& reports) const {
  const auto& [chunk, parameter] = owned_.views()[view];
  if (chunk.count == 0) return Tensor::empty({0}, parameter.tensor.dtype());
  const auto variable = static_cast<std::size_t>(chunk.parameter);
  ShardTree<Tensor> tree(shards());
  for (std::size_t other = 0; other < nodes_.size(); ++other) {
    for (std::size_t k = 0; k < nodes_[other].size(); ++k) {
      Tensor sum;
      if (reports[other].is_defined[k][variable]) {
        sum = static_cast<index_t>(other) == rank()
                  ? piece_of(trees.gradients[variable].parts()[k].sum, chunk)
                  : incoming_[view][other][k];
      }
      tree.add(nodes_[other][k], std::move(sum));
    }
  }
  return std::move(tree).total();
}

double Exchange::total(const Tensor& squares) const {
  std::string mine;
  for (index_t i = 0; i < squares.count(); ++i) detail::append(mine, squares.data<double>()[i]);
  const std::vector<std::string> all = communicator_->all_gather(mine);
  std::vector<std::string_view> left(all.begin(), all.end());
  double total = 0;  // added in the same order as in one process
  for (const Chunk& chunk : owned_.chunks()) {
    if (!has_gradient_[static_cast<std::size_t>(chunk.parameter)]) continue;
    std::string_view& of_owner = left[static_cast<std::size_t>(chunk.owner)];
    for (index_t block = 0; block < detail::norm_blocks(chunk.count); ++block) {
      total += detail::take<double>(of_owner);
    }
  }
  return total;
}

// ---- reports of a step ----

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

/// An error after '!', or the subtrees one after the other: their totals, and one byte per
/// variable.
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
    for (std::size_t i = 0; i < variables().size(); ++i) is_defined.push_back(text[i] != '\0');
    text.remove_prefix(variables().size());
  }
  return report;
}

std::vector<Exchange::Report> Exchange::gather(const Report& own) const {
  const std::vector<std::string> texts = communicator_->all_gather(packed(own));
  std::vector<Report> reports;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    reports.push_back(unpacked(texts[rank], rank));
  }
  return reports;
}

LossTotals Exchange::total_of(const std::vector<Report>& reports) const {
  ShardTree<LossTotals> tree(shards());
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    for (std::size_t k = 0; k < nodes_[rank].size(); ++k) {
      tree.add(nodes_[rank][k], reports[rank].totals[k]);
    }
  }
  return std::move(tree).total();
}

// ---- weights ----

void Exchange::share_weights() {
  for (const Chunk& chunk : owned_.chunks()) {
    const auto variable = static_cast<std::size_t>(chunk.parameter);
    if (!has_gradient_[variable]) continue;
    const Tensor weights = piece_of(variables()[variable].tensor, chunk);
    if (!is_own(chunk)) {
      communicator_->receive(chunk.owner, tag_of(chunk), mutable_bytes_of(weights));
      continue;
    }
    for (index_t other = 0; other < communicator_->size(); ++other) {
      if (other != rank()) communicator_->send(other, tag_of(chunk), bytes_of(weights));
    }
  }
  communicator_->wait();
}

}  // namespace tessera::nn
