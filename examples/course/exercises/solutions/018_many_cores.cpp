// One solution of each exercise of 018.
#include <array>

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

inline constexpr std::size_t kChunk = 256;

std::array<float, 3> three_numbers() {
  return {1, 1e8F, -1e8F};  // 0 and 1: 1 is less than half of the distance of floats near 1e8
}

void sum_chunks(const std::vector<float>& x, std::size_t part, std::size_t parts,
                std::vector<float>& chunks) {
  for (std::size_t c = chunks.size() * part / parts; c < chunks.size() * (part + 1) / parts; ++c) {
    const std::size_t end = std::min(x.size(), (c + 1) * kChunk);
    chunks[c] = 0;
    for (std::size_t i = c * kChunk; i < end; ++i) chunks[c] += x[i];
  }
}

float sum_tree(std::vector<float> chunks) {
  while (chunks.size() > 1) {
    std::vector<float> sums;
    for (std::size_t c = 0; c + 1 < chunks.size(); c += 2)
      sums.push_back(chunks[c] + chunks[c + 1]);
    if (chunks.size() % 2 == 1) sums.push_back(chunks.back());
    chunks = sums;
  }
  return chunks.empty() ? 0 : chunks[0];
}

}  // namespace tessera::exercises
