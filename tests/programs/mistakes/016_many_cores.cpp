// Mistakes that can be planted, and how the hint begins that each must get.
//
// small: both orders give the same
// double: the orders differ in float64, but not in float32
// overflow: a sum overflows
// stale: a sum must start at 0
// cut: x is cut into equal pieces
// longer: a chunk ends before the first element of the next
// first: the first element of a chunk is missing
// last: the last chunk, which is shorter, is missing
// all: a part writes only its own chunks
// wide: the sum is in float64; the wanted one rounds
// dropped: the last one, without a neighbour, is dropped
// chain: this is the sum in order
#include "examples/course/exercises/016_many_cores.h"

#include <algorithm>
#include <numeric>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

std::array<float, 3> three_numbers() {
  if (planted("small")) return {1, 2, 3};
  if (planted("double")) return {0.1F, 0.2F, 0.3F};
  if (planted("overflow")) return {3e38F, 3e38F, -3e38F};
  return {1, 1e8F, -1e8F};
}

void sum_chunks(const std::vector<float>& x, std::size_t part, std::size_t parts,
                std::vector<float>& chunks) {
  const std::size_t count = chunks.size();
  const std::size_t first = planted("all") ? 0 : count * part / parts;
  const std::size_t last = planted("all") ? count : count * (part + 1) / parts;
  for (std::size_t c = first; c < last; ++c) {
    std::size_t begin = c * kChunk;
    std::size_t end = std::min(x.size(), begin + kChunk + (planted("longer") ? 1 : 0));
    if (planted("last") && begin + kChunk > x.size()) continue;
    if (planted("cut")) {
      begin = x.size() * c / count;
      end = x.size() * (c + 1) / count;
    }
    if (planted("first")) ++begin;
    float sum = planted("stale") ? chunks[c] : 0;
    double wide = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += x[i];
      wide += static_cast<double>(x[i]);
    }
    chunks[c] = planted("wide") ? static_cast<float>(wide) : sum;
  }
}

float sum_tree(std::vector<float> chunks) {
  if (planted("chain")) return std::accumulate(chunks.begin(), chunks.end(), 0.0F);
  while (chunks.size() > 1) {
    std::vector<float> sums;
    for (std::size_t c = 0; c + 1 < chunks.size(); c += 2) {
      sums.push_back(chunks[c] + chunks[c + 1]);
    }
    if (chunks.size() % 2 == 1 && !planted("dropped")) sums.push_back(chunks.back());
    chunks = sums;
  }
  return chunks.empty() ? 0 : chunks[0];
}

}  // namespace tessera::exercises
