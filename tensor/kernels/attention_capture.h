// Stores the weights of selected heads and queries as attention computes them.
//
// A captured row is scaled whenever O is scaled, and divided by l at the end. So it has exactly the
// bits that the output would have for V = I.
#pragma once

#include "tessera/tensor/kernels/attention_block.h"

namespace tessera::kernels::TESSERA_ISA {

/// Calls `visit(place, number)` for each picked number in [begin, end); `place` is the index of
/// `number` in the list.
template <class Visit>
inline void visit_picked(const Picked& picked, index_t begin, index_t end, const Visit& visit) {
  if (picked.numbers == nullptr) {
    for (index_t number = begin; number < end; ++number) visit(number, number);
    return;
  }
  for (index_t place = 0; place < picked.count; ++place) {
    const index_t number = picked.numbers[place];
    if (begin <= number && number < end) visit(place, number);
  }
}

/// Calls `visit(row, i)` for each captured row of weights; the row belongs to query i of the block.
template <class T, class Visit>
inline void visit_captured(const QueryBlock<T>& block, const Visit& visit) {
  const WeightCapture<T>& weights = block.args.weights;
  const Heads<T>& to = weights.rows;
  if (to.data == nullptr) return;
  visit_picked(weights.heads, block.head, block.head + 1, [&](index_t head_place, index_t) {
    T* const rows = to.data + block.batch * to.batch + head_place * to.head;
    visit_picked(
        weights.queries, block.first, block.first + block.count,
        [&](index_t place, index_t i) { visit(rows + place * to.token, i - block.first); });
  });
}

/// Stores the weights of a tile, and scales older weights if the tile raised the maximum.
template <class T>
inline void capture_weights(const QueryBlock<T>& block, index_t key, index_t keys, bool rescale,
                            const AttentionScratch<T>& scratch) {
  visit_captured(block, [&](T* row, index_t i) {
    const T scale = scratch.scale[i];
    for (index_t j = block.keys.begin; rescale && scale != T{1} && j < key; ++j) row[j] *= scale;
    for (index_t j = 0; j < keys; ++j) row[key + j] = scratch.scores[j * kQueryBlock + i];
  });
}

/// Divides by l; `scale` must hold 1 / l. Keys that no query of the block sees get 0 like other
/// masked keys, or NaN if the row is NaN: the division into blocks must not change the result.
template <class T>
inline void finish_weights(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  visit_captured(block, [&](T* row, index_t i) {
    const T scale = scratch.scale[i];
    for (index_t j = 0; j < block.args.keys; ++j) {
      const bool seen = block.keys.begin <= j && j < block.keys.stop;
      row[j] = (seen ? row[j] : T{0}) * scale;
    }
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
