#include "nn/training/detail/chunks.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace tessera::nn {

std::vector<Chunk> cut_into_chunks(std::span<const index_t> counts, index_t processes) {
  using Load = std::pair<index_t, index_t>;  // elements owned so far, process
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (index_t i = 0; i < processes; ++i) loads.emplace(0, i);
  std::vector<Chunk> chunks;
  for (std::size_t parameter = 0; parameter < counts.size(); ++parameter) {
    for (index_t begin = 0; begin < counts[parameter]; begin += kChunkElements) {
      const index_t count = std::min(kChunkElements, counts[parameter] - begin);
      const auto [load, owner] = loads.top();
      loads.pop();
      loads.emplace(load + count, owner);
      chunks.push_back({static_cast<index_t>(parameter), begin, count, owner});
    }
  }
  return chunks;
}

}  // namespace tessera::nn
