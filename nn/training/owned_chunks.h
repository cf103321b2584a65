// The chunks that one process owns as parameters of their own, on which an optimiser works that knows
// nothing of processes. Private to training.
//
//   parameter          w, of 150,000 elements
//   its chunks         [0:65536]  [65536:131072]  [131072:150000]
//   here, of rank 1                w[65536:131072]                    a view; of a parameter of which
//                                                                     nothing is owned here, w[0:0]
#pragma once

#include <string>
#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/chunks.h"
#include "nn/training/communicator.h"
#include "nn/training/optimizer.h"

namespace tessera::nn {

/// The views of an optimiser's parameters that belong to this process, and its states: of the views
/// here, of whole parameters in checkpoints.
class OwnedChunks {
 public:
  /// A variable of its own on a part of a parameter's memory.
  struct View {
    Chunk chunk;
    Parameter parameter;  // its name is that of the whole with "[begin:end]"
  };

  /// Of the optimiser's parameters as they are now. `processes` must outlive it.
  OwnedChunks(const Optimizer& optimizer, Communicator& processes);

  /// All chunks of all processes, in the order of parameters and elements.
  const std::vector<Chunk>& chunks() const { return chunks_; }
  /// Those of this process in the same order, at least one of each parameter, which may be empty.
  const std::vector<View>& views() const { return views_; }
  /// Puts the views in the place of the optimiser's parameters. What it kept of them stays.
  void give_to(Optimizer& optimizer) const;

  /// The whole state or settings of which `own` are those of the views. All processes call it
  /// together; tensors are only in that of rank 0, which has copies of all.
  Checkpoint whole(const Checkpoint& own) const;
  /// The part of a whole state that `like`, a state of the views, names.
  /// **Errors**: names or shapes that do not fit.
  Checkpoint own(const Checkpoint& whole, const Checkpoint& like) const;

 private:
  const Parameter& variable_of(const Chunk& chunk) const {
    return variables_[static_cast<std::size_t>(chunk.parameter)];
  }
  bool is_own(const Chunk& chunk) const { return chunk.owner == processes_->rank(); }
  std::string name_of(const Chunk& chunk) const;
  void add_view(const Chunk& chunk);
  std::vector<std::string> kept_of(const Checkpoint& own) const;

  Communicator* processes_;
  Parameters variables_;
  std::vector<Chunk> chunks_;
  std::vector<View> views_;
};

}  // namespace tessera::nn
