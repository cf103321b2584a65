// Softmax and its relatives, over contiguous rows.
//
// The row's maximum is subtracted first, so that nothing overflows:
//
//     softmax(x)_i = exp(x_i - m) / sum_j exp(x_j - m),    m = max_j x_j
//
// The maximum may ignore a NaN; the sum does not. An exponential below the smallest normal number
// counts as 0.
//
// The gradients of softmax and log_softmax need only the results y: with dy the gradient of y,
//
//     softmax:      dx_i = y_i (dy_i - sum_j y_j dy_j)
//     log_softmax:  dx_i = dy_i - exp(y_i) sum_j dy_j
#pragma once

#include "tessera/tensor/kernels/reduce.h"

namespace tessera::kernels::TESSERA_ISA {

/// The largest number of a contiguous row; ignores NaN.
template <class T>
inline T max_number(index_t n, const T* x) {
  return reduce_blocks<T>(n, -kInfinity<T>, MaxNumber(), [=](index_t begin, index_t) {
    return [=](index_t i, index_t count) { return load_some(x + begin + i, count, -kInfinity<T>); };
  });
}

/// The sum of exp(x - largest); calls `visit(i, exp, count)` with each vector of exponentials. Also
/// prefetches the memory after the row, usually the next row.
template <class T, class Visit>
inline T sum_exp(index_t n, const T* x, T largest, const Visit& visit) {
  return reduce_blocks<T>(n, T{0}, Plus(), [=, &visit](index_t begin, index_t) {
    return [=, &visit](index_t i, index_t count) {
      prefetch(x, n + begin + i);
      const Vec<T> e = exp_of_negative(load_some(x + begin + i, count, -kInfinity<T>) - largest);
      visit(begin + i, e, count);
      return keep_first<T>(e, count, T{0});
    };
  });
}

/// The logarithm of sum_exp.
template <class T>
inline T log_sum_exp(index_t n, const T* x, T largest) {
  return log(broadcast(sum_exp(n, x, largest, [](index_t, Vec<T>, index_t) {})))[0];
}

template <class T>
void softmax(index_t rows, index_t n, const T* x, index_t x_row, T* y, index_t y_row) noexcept {
  for (index_t row = 0; row < rows; ++row, x += x_row, y += y_row) {
    const T sum = sum_exp(n, x, max_number(n, x),
                          [=](index_t i, Vec<T> e, index_t count) { store_some(y + i, e, count); });
    const T scale = T{1} / sum;
    for_each_vector<T>(n, [=](index_t i, index_t count) {
      store_some(y + i, load_some(y + i, count) * scale, count);
    });
  }
}

template <class T>
void softmax_gradient(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                      index_t dy_row, T* dx) noexcept {
  for (index_t row = 0; row < rows; ++row, y += y_row, dy += dy_row, dx += n) {
    T along[1];
    const auto block_step = [=](index_t begin, index_t) {
      return [=](Vec<T> lane, index_t, index_t i, index_t count) {
        return rounded(load_some(y + begin + i, count) * load_some(dy + begin + i, count) + lane);
      };
    };
    reduce_side_by_side(n, T{0}, Plus(), block_step, along);
    for_each_vector<T>(n, [=](index_t i, index_t count) {
      store_some(dx + i, load_some(y + i, count) * (load_some(dy + i, count) - along[0]), count);
    });
  }
}

template <class T>
void log_softmax(index_t rows, index_t n, const T* x, index_t x_row, T* y, index_t y_row) noexcept {
  for (index_t row = 0; row < rows; ++row, x += x_row, y += y_row) {
    const T largest = max_number(n, x);
    const T log_sum = log_sum_exp(n, x, largest);
    for_each_vector<T>(n, [=](index_t i, index_t count) {
      store_some(y + i, (load_some(x + i, count) - largest) - log_sum, count);
    });
  }
}

template <class T>
void log_softmax_gradient(index_t rows, index_t n, const T* y, index_t y_row, const T* dy,
                          index_t dy_row, T* dx) noexcept {
  for (index_t row = 0; row < rows; ++row, y += y_row, dy += dy_row, dx += n) {
    const T sum = reduce_row(n, dy, 1, T{0}, Plus(), [](Vec<T> v) { return v; });
    for_each_vector<T>(n, [=](index_t i, index_t count) {
      const Vec<T> d = load_some(dy + i, count);
      const Vec<T> share = exp_of_negative(load_some(y + i, count));
      store_some(dx + i, d - share * sum, count);
    });
  }
}

template <class T>
void logsumexp(index_t rows, index_t n, const T* x, index_t x_row, T* y) noexcept {
  for (index_t row = 0; row < rows; ++row, x += x_row) {
    const T largest = max_number(n, x);
    const bool is_finite = largest - largest == T{0};
    // An infinite maximum is the result, unless there is a NaN.
    y[row] = is_finite ? largest + log_sum_exp(n, x, largest) : reduce(ReduceOp::kMax, n, x, 1);
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
