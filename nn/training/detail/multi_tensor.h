// The elements of many tensors, and one parallel loop over them. Private to nn.
#pragma once

#include <algorithm>
#include <vector>

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn::detail {

/// The elements of a floating tensor, to write to: like Tensor::mutable_data, this bumps the
/// version of its memory, so that packed weights are packed again.
inline void* mutable_elements_of(Tensor x) {
  return visit_floating(x.dtype(),
                        [&](auto kind) -> void* { return x.mutable_data<decltype(kind)>(); });
}

/// Calls `body(piece, begin, end)` with ranges of the pieces, which together cover [0, count) of
/// each, on as many threads as pay off. A piece has `first`, the sum of the counts of the pieces
/// before it, and `count`; one index costs about `cost` elementary operations.
template <class Piece, class Body>
void for_each_range(const std::vector<Piece>& pieces, index_t cost, const Body& body) {
  if (pieces.empty()) return;
  const index_t total = pieces.back().first + pieces.back().count;
  kernels::parallel_for(total, cost, [&](index_t begin, index_t end) {
    const auto after = std::upper_bound(pieces.begin(), pieces.end(), begin,
                                        [](index_t i, const Piece& p) { return i < p.first; });
    for (auto piece = after - 1; begin < end; ++piece) {
      const index_t stop = std::min(end, piece->first + piece->count);
      if (begin < stop) body(*piece, begin - piece->first, stop - piece->first);
      begin = stop;
    }
  });
}

}  // namespace tessera::nn::detail
