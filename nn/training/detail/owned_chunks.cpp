#include "nn/training/detail/owned_chunks.h"

#include <utility>

#include "nn/training/detail/messages.h"
#include "tensor/error.h"

namespace tessera::nn {

using detail::bytes_of;
using detail::mutable_bytes_of;
using detail::piece_of;

OwnedChunks::OwnedChunks(const Optimizer& optimizer, Communicator& communicator)
    : communicator_(&communicator), variables_(optimizer.variables()) {
  std::vector<index_t> counts;
  for (const Parameter& variable : variables_) counts.push_back(variable.tensor.count());
  chunks_ = cut_into_chunks(counts, communicator.size());
  auto chunk = chunks_.begin();
  for (index_t i = 0; i < std::ssize(variables_); ++i) {
    const std::size_t before = views_.size();
    for (; chunk != chunks_.end() && chunk->parameter == i; ++chunk) {
      if (is_own(*chunk)) add_view(*chunk);
    }
    if (views_.size() == before) add_view({i, 0, 0, communicator.rank()});
  }
}

std::string OwnedChunks::name_of(const Chunk& chunk) const {
  return str_cat(variable_of(chunk).name, '[', chunk.begin, ':', chunk.begin + chunk.count, ']');
}

void OwnedChunks::add_view(const Chunk& chunk) {
  Tensor view = piece_of(variable_of(chunk).tensor, chunk);
  views_.push_back({chunk, {name_of(chunk), view.set_requires_grad()}});
}

void OwnedChunks::give_to(Optimizer& optimizer) const {
  std::vector<Parameters> groups;
  auto view = views_.begin();
  index_t end = 0;  // the end of the parameters in the groups so far
  for (const Optimizer::Group& group : optimizer.groups()) {
    end += std::ssize(group.parameters);
    Parameters& parameters = groups.emplace_back();
    for (; view != views_.end() && view->chunk.parameter < end; ++view) {
      parameters.push_back(view->parameter);
    }
  }
  const Checkpoint before = optimizer.state();
  optimizer.set_parameters(std::move(groups));
  optimizer.load_state(own(before, optimizer.state()));
}

// ---- states ----

namespace {

/// "NAME.WHAT" for a view's "NAME[BEGIN:END].WHAT"; other names do not change.
std::string whole_name(const std::string& own) {
  const std::size_t dot = own.rfind('.');
  if (dot == std::string::npos || dot == 0 || own[dot - 1] != ']') return own;
  return own.substr(0, own.rfind('[')) + own.substr(dot);
}

}  // namespace

/// ".WHAT" for each tensor that a rule keeps, the same for each parameter.
std::vector<std::string> OwnedChunks::kept_of(const Checkpoint& own) const {
  std::vector<std::string> kept;
  for (const auto& [what, tensor] : own.group(views_.front().parameter.name).tensors) {
    kept.push_back('.' + what);
  }
  return kept;
}

Checkpoint OwnedChunks::whole(const Checkpoint& own) const {
  Checkpoint whole;
  for (const auto& [name, value] : own.values) whole.values[whole_name(name)] = value;
  const std::vector<std::string> kept = kept_of(own);
  const bool is_root = communicator_->rank() == 0;
  for (const auto& [name, tensor] : variables_) {
    for (std::size_t k = 0; is_root && k < kept.size(); ++k) {
      whole.tensors.emplace(name + kept[k], Tensor::empty(tensor.shape(), tensor.dtype()));
    }
  }
  index_t tag = 0;
  for (const Chunk& chunk : chunks_) {
    for (const std::string& what : kept) {
      const Tensor part = is_own(chunk) ? own.tensors.at(name_of(chunk) + what) : Tensor();
      if (is_root) {
        Tensor piece = piece_of(whole.tensors.at(variable_of(chunk).name + what), chunk);
        if (part.defined()) {
          piece.copy_from(part);
        } else {
          communicator_->receive(chunk.owner, tag, mutable_bytes_of(piece));
        }
      } else if (part.defined()) {
        communicator_->send(0, tag, bytes_of(part));
      }
      ++tag;
    }
  }
  communicator_->wait();
  return whole;
}

Checkpoint OwnedChunks::own(const Checkpoint& whole, const Checkpoint& like) const {
  const std::vector<std::string> kept = kept_of(like);
  Checkpoint wanted;
  for (const auto& [name, value] : like.values) wanted.values[whole_name(name)] = value;
  for (const auto& [name, tensor] : variables_) {
    for (const std::string& what : kept) wanted.tensors[name + what] = tensor.detach();
  }
  whole.check_names("load_state", wanted);
  Checkpoint own = {.tensors = {}, .values = {}, .file = whole.file};
  for (const auto& [name, value] : like.values) own.values[name] = whole.text(whole_name(name));
  for (const auto& [chunk, view] : views_) {
    for (const std::string& what : kept) {
      const Tensor& of_all = whole.tensors.at(variable_of(chunk).name + what);
      own.tensors[view.name + what] = piece_of(of_all, chunk);
    }
  }
  return own;
}

}  // namespace tessera::nn
