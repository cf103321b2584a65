// Reductions along a row, and down the columns of a matrix.
//
// Element k belongs to virtual lane k mod 16. A lane sums its 32 elements of a block of the row,
// then the sums of the blocks, so that a long row loses no more digits than a short one. At the end
// a horizontal reduction folds the 16 lanes into one: 8 pairs of lanes (i, i + 8), then 4, 2 and 1.
//
//     x[0] x[16] x[32] ..  -> lane 0  \ .
//     x[1] x[17] x[33] ..  -> lane 1   |  0+8 1+9 ..  ->  0+4 ..  ->  0+2 1+3  ->  0+1
//     ..                               |
//     x[15] x[31] ..       -> lane 15 /
//
// This order is the same for every vector width, for rows of any stride, and for columns.
#pragma once

#include "tessera/tensor/kernels/elementwise.h"
#include "tessera/tensor/kernels/simd.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

/// The sixteen virtual lanes.
template <class T>
struct Lanes {
  Vec<T> part[kParts<T>];
};

struct Plus {
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};
struct Maximum {
  template <class V>
  V operator()(V a, V b) const {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class V>
  V operator()(V a, V b) const {
    return minimum(a, b);
  }
};
/// The larger number; ignores NaN.
struct MaxNumber {
  template <class V>
  V operator()(V a, V b) const {
    return max(a, b);
  }
};

template <class T>
inline Lanes<T> all_lanes(T x) {
  Lanes<T> lanes;
#pragma GCC unroll 8
  for (index_t p = 0; p < kParts<T>; ++p) lanes.part[p] = broadcast(x);
  return lanes;
}

/// Folds the N lanes of a vector into one: pairs of lanes (i, i + N/2), repeatedly.
template <class T, int N>
struct FoldVector {
  typedef T Half __attribute__((vector_size(sizeof(T) * N / 2)));
  template <class V, class Op>
  static T fold(const V& v, const Op& op) {
    Half low, high;
    __builtin_memcpy(&low, &v, sizeof(Half));
    __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(Half), sizeof(Half));
    return FoldVector<T, N / 2>::fold(op(low, high), op);
  }
};
template <class T>
struct FoldVector<T, 4> {
  template <class V, class Op>
  static T fold(const V& v, const Op& op) {
    return op(op(T{v[0]}, T{v[2]}), op(T{v[1]}, T{v[3]}));
  }
};
template <class T>
struct FoldVector<T, 2> {
  template <class V, class Op>
  static T fold(const V& v, const Op& op) {
    return op(T{v[0]}, T{v[1]});
  }
};

template <class T, class Op>
inline T fold(Lanes<T> lanes, const Op& op) {
#pragma GCC unroll 4
  for (index_t width = kParts<T> / 2; width > 0; width /= 2) {
#pragma GCC unroll 4
    for (index_t p = 0; p < width; ++p) lanes.part[p] = op(lanes.part[p], lanes.part[p + width]);
  }
  return FoldVector<T, static_cast<int>(kLanes<T>)>::fold(lanes.part[0], op);
}

/// Accumulates the elements i < length of R rows in `lanes`, all rows at the same time:
/// `step(lane, r, i, count)` returns `lane` combined with elements [i, i + count) of row r, and
/// must not change the lanes after `count`.
template <index_t R, class T, class Step>
[[gnu::always_inline]] inline void take_in(Lanes<T> (&lanes)[R], index_t length, const Step& step) {
  index_t i = 0;
  const auto take = [&](index_t p, index_t count) {
#pragma GCC unroll 4
    for (index_t r = 0; r < R; ++r) {
      Vec<T>& lane = lanes[r].part[p];
      lane = step(lane, r, i + p * kLanes<T>, count);
    }
  };
  for (; i + kVirtualLanes <= length; i += kVirtualLanes) {
#pragma GCC unroll 8
    for (index_t p = 0; p < kParts<T>; ++p) take(p, kLanes<T>);
  }
#pragma GCC unroll 8
  for (index_t p = 0; p < kParts<T>; ++p) {
    const index_t rest = length - i - p * kLanes<T>;
    if (rest > 0) take(p, rest < kLanes<T> ? rest : kLanes<T>);
  }
}

/// Reduces R rows of n elements at the same time, block by block: `block_step(begin, length)`
/// returns the step of `take_in` for a block. The additions of one row are a dependency chain;
/// those of different rows are independent.
template <index_t R, class T, class Op, class BlockStep>
[[gnu::always_inline]] inline void reduce_side_by_side(index_t n, T none, const Op& op,
                                                       const BlockStep& block_step,
                                                       T (&result)[R]) {
  Lanes<T> total[R];
#pragma GCC unroll 4
  for (index_t r = 0; r < R; ++r) total[r] = all_lanes(none);
  for_each_block<T>(n, [&](index_t begin, index_t length) {
    Lanes<T> block[R];
#pragma GCC unroll 4
    for (index_t r = 0; r < R; ++r) block[r] = all_lanes(none);
    take_in(block, length, block_step(begin, length));
#pragma GCC unroll 4
    for (index_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (index_t p = 0; p < kParts<T>; ++p) {
        total[r].part[p] = op(block[r].part[p], total[r].part[p]);
      }
    }
  });
#pragma GCC unroll 4
  for (index_t r = 0; r < R; ++r) result[r] = fold(total[r], op);
}

/// Reduces a row of n elements block by block: `block_term(begin, length)` returns a function
/// `term` for a block, and `term(i, count)` returns the vector of its elements [i, i + count), with
/// `none` after them.
template <class T, class Op, class BlockTerm>
[[gnu::always_inline]] inline T reduce_blocks(index_t n, T none, const Op& op,
                                              const BlockTerm& block_term) {
  T result[1];
  const auto block_step = [&](index_t begin, index_t length) {
    const auto term = block_term(begin, length);
    return [=, &op](Vec<T> lane, index_t, index_t i, index_t count) {
      return op(term(i, count), lane);
    };
  };
  reduce_side_by_side(n, none, op, block_step, result);
  return result[0];
}

/// v in the first `count` lanes, `none` after them.
template <class T>
[[gnu::always_inline]] inline Vec<T> keep_first(Vec<T> v, index_t count, T none) {
  return count == kLanes<T> ? v : (first_lanes<T>(count) ? v : broadcast(none));
}

/// Reduces f(x) by op over a row of any stride.
template <class T, class Op, class F>
[[gnu::always_inline]] inline T reduce_row(index_t n, const T* x, index_t stride, T none,
                                           const Op& op, const F& f) {
  RowBlocks<T> blocks(n, x, stride);
  return reduce_blocks<T>(n, none, op, [&](index_t begin, index_t length) {
    const T* block = blocks.block(begin, length);
    return [=, &f](index_t i, index_t count) {
      return keep_first<T>(f(load_some(block + i, count)), count, none);
    };
  });
}

// The mean and the deviations are those of x - x[0]: the deviations of constant rows are exactly 0,
// and a mean far from 0 loses no digits.

/// The mean of x - x[0]; n >= 1.
template <class T>
inline T shifted_mean(index_t n, const T* x, index_t stride) {
  const T first = x[0];
  const T sum = reduce_row(n, x, stride, T{0}, Plus(), [=](Vec<T> v) { return v - first; });
  return sum / static_cast<T>(n);
}

/// The sum of (x - x[0] - mean)^2, with the mean of shifted_mean.
template <class T>
inline T squared_deviations(index_t n, const T* x, index_t stride, T mean) {
  const T first = x[0];
  return reduce_row(n, x, stride, T{0}, Plus(), [=](Vec<T> v) {
    const Vec<T> deviation = (v - first) - mean;
    return rounded(deviation * deviation);
  });
}

template <class T>
T reduce(ReduceOp op, index_t n, const T* x, index_t stride) noexcept {
  const auto itself = [](Vec<T> v) { return v; };
  switch (op) {
    case ReduceOp::kSum:
      return reduce_row(n, x, stride, T{0}, Plus(), itself);
    case ReduceOp::kMax:
      return reduce_row(n, x, stride, -kInfinity<T>, Maximum(), itself);
    case ReduceOp::kMin:
      return reduce_row(n, x, stride, kInfinity<T>, Minimum(), itself);
    case ReduceOp::kSquaredDeviations:
      return n == 0 ? T{0} : squared_deviations(n, x, stride, shifted_mean(n, x, stride));
  }
  return 0;
}

template <class T>
index_t argmax(index_t n, const T* x, index_t stride) noexcept {
  const T largest = reduce(ReduceOp::kMax, n, x, stride);
  index_t i = 0;
  if (largest != largest) {
    while (x[i * stride] == x[i * stride]) ++i;
  } else {
    while (x[i * stride] != largest) ++i;
  }
  return i;
}

/// The number of columns that are reduced together: two arrays of their sixteen lanes stay in L1.
template <class T>
inline constexpr index_t kStrip = 256 / static_cast<index_t>(sizeof(T));

/// Calls `body(j, count)` for each vector of a row of `columns` elements.
template <class T, class Body>
[[gnu::always_inline]] inline void for_each_vector(index_t columns, const Body& body) {
  index_t j = 0;
  for (; j + kLanes<T> <= columns; j += kLanes<T>) body(j, kLanes<T>);
  if (j < columns) body(j, columns - j);
}

/// reduce_row for each of at most kStrip columns; f(x, j, count) for columns [j, j + count).
template <class T, class Op, class F>
inline void reduce_strip(index_t rows, index_t columns, const T* x, index_t x_row, T* y, T none,
                         const Op& op, const F& f) {
  T total[kVirtualLanes][kStrip<T>];
  T block[kVirtualLanes][kStrip<T>];
  const auto fill = [&](T(&lanes)[kVirtualLanes][kStrip<T>]) {
    for (auto& lane : lanes) {
      for (T& value : lane) value = none;
    }
  };
  const auto into = [&](T* lane, index_t j, Vec<T> v) { store(lane + j, op(v, load(lane + j))); };
  fill(total);
  for_each_block<T>(rows, [&](index_t begin, index_t length) {
    fill(block);
    for (index_t k = 0; k < length; ++k) {
      const T* row = x + (begin + k) * x_row;
      T* lane = block[k % kVirtualLanes];
      for_each_vector<T>(columns, [&](index_t j, index_t count) {
        into(lane, j, f(load_some(row + j, count), j, count));
      });
    }
    for (index_t i = 0; i < kVirtualLanes; ++i) {
      for (index_t j = 0; j < columns; j += kLanes<T>) into(total[i], j, load(block[i] + j));
    }
  });
  for (index_t width = kVirtualLanes / 2; width > 0; width /= 2) {
    for (index_t i = 0; i < width; ++i) {
      for (index_t j = 0; j < columns; j += kLanes<T>) {
        store(total[i] + j, op(load(total[i] + j), load(total[i + width] + j)));
      }
    }
  }
  __builtin_memcpy(y, total[0], static_cast<std::size_t>(columns) * sizeof(T));
}

template <class T>
inline void squared_deviations_strip(index_t rows, index_t columns, const T* x, index_t x_row,
                                     T* y) {
  const auto shifted = [=](Vec<T> v, index_t j, index_t count) {
    return v - load_some(x + j, count);
  };
  T mean[kStrip<T>] = {};
  if (rows > 0) {
    reduce_strip(rows, columns, x, x_row, mean, T{0}, Plus(), shifted);
    for (T& value : mean) value /= static_cast<T>(rows);
  }
  reduce_strip(rows, columns, x, x_row, y, T{0}, Plus(), [&](Vec<T> v, index_t j, index_t count) {
    const Vec<T> deviation = shifted(v, j, count) - load(mean + j);
    return rounded(deviation * deviation);
  });
}

template <class T>
void reduce_columns(ReduceOp op, index_t rows, index_t columns, const T* x, index_t x_row,
                    T* y) noexcept {
  const auto itself = [](Vec<T> v, index_t, index_t) { return v; };
  for (index_t j = 0; j < columns; j += kStrip<T>) {
    const index_t width = columns - j < kStrip<T> ? columns - j : kStrip<T>;
    const auto strip = [&](T none, const auto& combined) {
      reduce_strip(rows, width, x + j, x_row, y + j, none, combined, itself);
    };
    switch (op) {
      case ReduceOp::kSum:
        strip(T{0}, Plus());
        break;
      case ReduceOp::kMax:
        strip(-kInfinity<T>, Maximum());
        break;
      case ReduceOp::kMin:
        strip(kInfinity<T>, Minimum());
        break;
      case ReduceOp::kSquaredDeviations:
        squared_deviations_strip(rows, width, x + j, x_row, y + j);
        break;
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
