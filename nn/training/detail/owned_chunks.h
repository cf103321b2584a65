// Makes the chunks that a process owns separate parameters, so that an optimiser needs no code for
// several processes. Private to training.
//
//   parameter          w, of 150,000 elements
//   its chunks         [0:65536]  [65536:131072]  [131072:150000]
//   view of rank 1                 w[65536:131072]                    w[0:0] if it owns none of w
#pragma once

#include <string>
#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/communicator.h"
#include "nn/training/detail/chunks.h"
#include "nn/training/optimizer.h"

namespace tessera::nn {

/// The views of an optimiser's parameters that this process owns. Converts the optimiser's state:
/// an own state is for the views, and a whole state, as in checkpoints, is for whole parameters.
class OwnedChunks {
 public:
  /// A variable on a part of a parameter's memory.
  struct View {
    Chunk chunk;
    Parameter parameter;  // named as the whole parameter, with "[begin:end]"
  };

  /// Divides the optimiser's current parameters. `communicator` must outlive this object.
  OwnedChunks(const Optimizer& optimizer, Communicator& communicator);

  /// All chunks of all processes, in the order of parameters and elements.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  /// The chunks of this process in the same order: at least one of each parameter, which may be
  /// empty.
  const std::vector<View>& views() const { return views_; }
  /// Replaces the optimiser's parameters by the views. Their part of the optimiser's state stays.
  void give_to(Optimizer& optimizer) const;

  /// The whole state or settings, from `own`, those of the views. All processes call it together;
  /// only rank 0 gets tensors, copies of all.
  Checkpoint whole(const Checkpoint& own) const;
  /// The part of a whole state that `like`, a state of the views, names.
  /// **Errors**: names or shapes that do not match.
  Checkpoint own(const Checkpoint& whole, const Checkpoint& like) const;

 private:
  const Parameter& variable_of(const Chunk& chunk) const {
    return variables_[static_cast<std::size_t>(chunk.parameter)];
  }
  bool is_own(const Chunk& chunk) const { return chunk.owner == communicator_->rank(); }
  std::string name_of(const Chunk& chunk) const;
  void add_view(const Chunk& chunk);
  std::vector<std::string> kept_of(const Checkpoint& own) const;

  Communicator* communicator_;
  Parameters variables_;
  std::vector<Chunk> chunks_;
  std::vector<View> views_;
};

}  // namespace tessera::nn
