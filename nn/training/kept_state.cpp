#include "nn/training/kept_state.h"

#include <algorithm>
#include <utility>

#include "nn/training/messages.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace tessera::nn::detail {

std::string KeptState::name_of(std::size_t parameter, std::size_t kept) const {
  return parameters_[parameter].name + '.' + names_[kept];
}

void KeptState::add(const Parameter& parameter) {
  parts_.push_back({std::ssize(parameters_), 0, parameter.tensor.count(), {}});
  parameters_.push_back(parameter);
}

void KeptState::allocate() {
  for (Part& part : parts_) {
    const DType dtype = parameters_[static_cast<std::size_t>(part.parameter)].tensor.dtype();
    while (part.tensors.size() < names_.size()) part.tensors.push_back(zeros({part.count}, dtype));
  }
}

std::span<KeptState::Part> KeptState::parts_of(index_t parameter) {
  const auto first = std::partition_point(
      parts_.begin(), parts_.end(), [&](const Part& part) { return part.parameter < parameter; });
  const auto last = std::partition_point(
      first, parts_.end(), [&](const Part& part) { return part.parameter == parameter; });
  return {first, last};
}

index_t KeptState::bytes() const {
  index_t bytes = 0;
  for (const Part& part : parts_) {
    for (const Tensor& tensor : part.tensors) bytes += tensor.count() * item_size(tensor.dtype());
  }
  return bytes;
}

// ---- sharing ----

void KeptState::share(const char* op, Communicator& processes) {
  if (processes_ != nullptr) {
    const bool is_same =
        processes.size() == processes_->size() && processes.rank() == processes_->rank();
    require(is_same, op, "an optimiser that is shared must keep its processes, rank ",
            processes_->rank(), " of ", processes_->size(), ", got rank ", processes.rank(), " of ",
            processes.size());
    processes_ = &processes;
    return;
  }
  std::vector<index_t> counts;
  for (const Parameter& parameter : parameters_) counts.push_back(parameter.tensor.count());
  std::vector<Chunk> chunks = cut_into_chunks(counts, processes.size());
  const index_t most = Communicator::kMostTags / 2;
  require(std::ssize(chunks) <= most, op, "the parameters must have at most ", most, " chunks of ",
          kChunkElements, " elements, got ", chunks.size());
  std::vector<Part> own;
  for (const Chunk& chunk : chunks) {
    if (chunk.owner != processes.rank()) continue;
    own.push_back({chunk.parameter, chunk.begin, chunk.count, {}});
    for (const Tensor& whole : parts_[static_cast<std::size_t>(chunk.parameter)].tensors) {
      own.back().tensors.push_back(piece_of(whole, chunk).clone());
    }
  }
  parts_ = std::move(own);
  chunks_ = std::move(chunks);
  processes_ = &processes;
  allocate();
}

// ---- states ----

void KeptState::add_to(Checkpoint& state) const {
  if (processes_ != nullptr) return gather(state);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Tensor& like = parameters_[i].tensor;
    for (std::size_t kept = 0; kept < names_.size(); ++kept) {
      const auto& tensors = parts_[i].tensors;
      state.tensors.emplace(name_of(i, kept), tensors.empty()
                                                  ? zeros(like.shape(), like.dtype())
                                                  : tensors[kept].reshape(like.shape()));
    }
  }
}

/// Chunk by chunk, from the owners' parts into the whole tensors at rank 0.
void KeptState::gather(Checkpoint& state) const {
  const bool is_root = processes_->rank() == 0;
  std::vector<Tensor> wholes;  // at rank 0, in the order of parameters and names
  for (std::size_t i = 0; is_root && i < parameters_.size(); ++i) {
    const Tensor& like = parameters_[i].tensor;
    for (std::size_t kept = 0; kept < names_.size(); ++kept) {
      wholes.push_back(Tensor::empty(like.shape(), like.dtype()));
      state.tensors.emplace(name_of(i, kept), wholes.back());
    }
  }
  auto part = parts_.begin();
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const Chunk& chunk = chunks_[i];
    const bool is_own = chunk.owner == processes_->rank();
    for (std::size_t kept = 0; kept < names_.size(); ++kept) {
      const auto tag = static_cast<index_t>(2 * i + kept);
      if (is_root) {
        const std::size_t whole = static_cast<std::size_t>(chunk.parameter) * names_.size() + kept;
        Tensor piece = piece_of(wholes[whole], chunk);
        if (is_own) {
          piece.copy_from(part->tensors[kept]);
        } else {
          processes_->receive(chunk.owner, tag, writable_bytes_of(piece));
        }
      } else if (is_own) {
        processes_->send(0, tag, bytes_of(part->tensors[kept]));
      }
    }
    if (is_own) ++part;
  }
  processes_->wait();
}

void KeptState::add_shapes_to(Checkpoint& state) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& like = parameters_[i].tensor;
    const Tensor shape = zeros({}, like.dtype()).expand(like.shape());
    for (std::size_t kept = 0; kept < names_.size(); ++kept) {
      state.tensors.emplace(name_of(i, kept), shape);
    }
  }
}

void KeptState::load(const Checkpoint& state) {
  allocate();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (std::size_t kept = 0; kept < names_.size(); ++kept) {
      const Tensor whole = state.tensors.at(name_of(i, kept)).detach().contiguous();
      for (Part& part : parts_of(static_cast<index_t>(i))) {
        part.tensors[kept].copy_from(piece_of(whole, part));
      }
    }
  }
}

}  // namespace tessera::nn::detail
