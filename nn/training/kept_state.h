// What a rule keeps of parameters from one step to the next: of all their elements, or, where
// processes share an optimiser, only of this process's own chunks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/training/checkpoint.h"
#include "nn/training/chunks.h"
#include "nn/training/communicator.h"
#include "nn/training/parameters.h"

namespace tessera::nn::detail {

/// Parameters, numbered from 0 in the order of `add`, and the tensors NAME.KEPT that are kept of
/// each. They are zeros at first, for which no memory is needed before `allocate`.
class KeptState {
 public:
  /// Neighbouring elements of one parameter, and what is kept of them.
  struct Part {
    index_t parameter, begin, count;
    std::vector<Tensor> tensors;  // (count,) each, in the order of names; before `allocate` none
  };

  explicit KeptState(std::vector<const char*> names) : names_(std::move(names)) {}

  void add(const Parameter& parameter);
  const Parameters& parameters() const { return parameters_; }

  /// From here on keeps only the parts of this process's own chunks. Of what was kept before, these
  /// parts stay as they are. **Errors** that begin with `op`: more chunks than there are tags; shared
  /// before by another number of processes. Then nothing is changed.
  void share(const char* op, Communicator& processes);
  /// Who shares it; null: nobody.
  Communicator* processes() const { return processes_; }
  /// All chunks of all parameters; none where it is not shared.
  const std::vector<Chunk>& chunks() const { return chunks_; }

  /// Makes the tensors of all parts, where there are none yet.
  void allocate();
  /// What is kept here of one parameter: all of it in one part, or a part for each own chunk.
  std::span<Part> parts_of(index_t parameter);
  /// The memory of all parts.
  index_t bytes() const;

  /// Adds the whole tensors to a state. They share memory with the parts where it is not shared.
  /// Otherwise all processes call this together, and only rank 0 adds tensors, which are copies.
  void add_to(Checkpoint& state) const;
  /// Adds tensors of the names and shapes that a whole state has, and that need no memory.
  void add_shapes_to(Checkpoint& state) const;
  /// Copies its parts from a whole state that fits.
  void load(const Checkpoint& state);

 private:
  std::string name_of(std::size_t parameter, std::size_t kept) const;
  void gather(Checkpoint& state) const;

  std::vector<const char*> names_;
  Parameters parameters_;
  std::vector<Part> parts_;  // in the order of parameters, and of their elements
  std::vector<Chunk> chunks_;
  Communicator* processes_ = nullptr;
};

}  // namespace tessera::nn::detail
