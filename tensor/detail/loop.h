// Loops over tensors of any strides.
//
// The elements of a few operands of one shape are visited together. Axes that are contiguous with
// their neighbour in every operand are merged first, so a contiguous tensor of any rank is one long
// row and kernels only ever see rows: a pointer, a stride and a length per operand.
#pragma once

#include <algorithm>
#include <array>

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/shape.h"

namespace tessera {

/// The merged axes of N operands: sizes[0..rank) with strides[operand][axis]; the last axis is the
/// row. rank >= 1, so that a scalar is a row of one.
template <std::size_t N>
struct LoopPlan {
  Shape sizes;
  std::array<Strides, N> strides;

  index_t row_length() const { return sizes.back(); }
  index_t row_count() const {
    index_t rows = 1;
    for (index_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
    return rows;
  }
};

/// Merges the axes of `shape`, along which operand i steps by strides[i].
template <std::size_t N>
LoopPlan<N> plan_loop(const Shape& shape, const std::array<Strides, N>& strides) {
  LoopPlan<N> plan;
  for (index_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool merges = !plan.sizes.empty();
    for (std::size_t i = 0; i < N && merges; ++i) {
      merges = plan.strides[i].back() == strides[i][axis] * shape[axis];
    }
    if (merges) {
      plan.sizes.back() *= shape[axis];
      for (std::size_t i = 0; i < N; ++i) plan.strides[i].back() = strides[i][axis];
    } else {
      plan.sizes.push_back(shape[axis]);
      for (std::size_t i = 0; i < N; ++i) plan.strides[i].push_back(strides[i][axis]);
    }
  }
  if (plan.sizes.empty()) {
    plan.sizes.push_back(1);
    for (std::size_t i = 0; i < N; ++i) plan.strides[i].push_back(0);
  }
  return plan;
}

/// The offsets, one per operand, of row number `row` of the plan.
template <std::size_t N>
std::array<index_t, N> row_offsets(const LoopPlan<N>& plan, index_t row) {
  std::array<index_t, N> offsets{};
  for (index_t axis = plan.sizes.size() - 2; axis >= 0; --axis) {
    const index_t position = row % plan.sizes[axis];
    row /= plan.sizes[axis];
    for (std::size_t i = 0; i < N; ++i) offsets[i] += position * plan.strides[i][axis];
  }
  return offsets;
}

/// The offsets, one per operand, of element number `element` of the plan.
template <std::size_t N>
std::array<index_t, N> element_offsets(const LoopPlan<N>& plan, index_t element) {
  auto offsets = row_offsets(plan, element / plan.row_length());
  const index_t position = element % plan.row_length();
  for (std::size_t i = 0; i < N; ++i) offsets[i] += position * plan.strides[i].back();
  return offsets;
}

/// Calls `body(offsets, length)` on pieces of rows that cover every element once, in parallel if it
/// pays; one element costs about `cost` elementary operations. Within a piece operand i steps by
/// plan.strides[i].back().
template <std::size_t N, class Body>
void for_each_row(const LoopPlan<N>& plan, index_t cost, const Body& body) {
  const index_t length = plan.row_length();
  kernels::parallel_for(plan.row_count() * length, cost, [&](index_t begin, index_t end) {
    while (begin < end) {
      const index_t n = std::min(length - begin % length, end - begin);
      body(element_offsets(plan, begin), n);
      begin += n;
    }
  });
}

}  // namespace tessera
