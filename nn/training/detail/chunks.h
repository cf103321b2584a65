// Parameters divided into pieces, each owned by one process.
#pragma once

#include <span>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::nn {

/// The maximum number of elements of a chunk; the division of a parameter depends only on it.
inline constexpr index_t kChunkElements = 65536;

/// Elements [begin, begin + count) of one parameter, and the process that owns them: it finishes
/// their sums, keeps their optimiser state and updates them.
struct Chunk {
  index_t parameter, begin, count, owner;

  bool operator==(const Chunk&) const = default;
};

/// Divides parameters with these numbers of elements into chunks, in their order.
///
/// A chunk belongs to the process that owns the fewest elements before it, the lowest rank if there
/// are several. So no process owns over kChunkElements more than another. Neighbouring parameters
/// of a layer belong to different processes, because gradients arrive layer by layer, and the owner
/// of a whole layer would receive it from all others at once.
std::vector<Chunk> cut_into_chunks(std::span<const index_t> counts, index_t processes);

}  // namespace tessera::nn
