// Parameters cut into pieces, each of which one process owns.
#pragma once

#include <span>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::nn {

/// The most elements of a chunk; where a parameter is cut depends on nothing else.
inline constexpr index_t kChunkElements = 65536;

/// Elements [begin, begin + count) of one parameter, and the process that owns them: it finishes
/// their sums, keeps their optimiser's state and moves them.
struct Chunk {
  index_t parameter, begin, count, owner;

  bool operator==(const Chunk&) const = default;
};

/// Cuts parameters of so many elements into chunks, in their order.
///
/// A chunk belongs to the process that owns the fewest elements before it, the first of several. So
/// no process owns more than kChunkElements more than another; and the neighbours of a layer belong
/// to different processes, because gradients arrive layer by layer, and one that owned a whole layer
/// would receive it from all others at once.
std::vector<Chunk> cut_into_chunks(std::span<const index_t> counts, index_t processes);

}  // namespace tessera::nn
