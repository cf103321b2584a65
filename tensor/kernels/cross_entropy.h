// Cross-entropy over rows of scores, with its gradient, in three passes over a row: its maximum;
// its exponentials and their sum; the gradient, from the exponentials, which are still in the
// cache.
//
// With p = softmax(x), target y, class weights w (with sum W), smoothing s and C classes:
//
//     a = (1 - s) w_y,  b = s / C
//     loss = a (log sum exp(x) - x_y) + b sum_c w_c (log sum exp(x) - x_c)
//     dloss / dx_c = (a + b W) p_c - b w_c - a [c = y]
#pragma once

#include "tensor/kernels/softmax.h"

namespace tessera::kernels::TESSERA_ISA {

/// The sum of w_c (log sum exp(x) - x_c), the term of label smoothing.
template <class T>
inline T smooth_loss(index_t n, const T* x, const T* weight, T largest, T log_sum) {
  return reduce_blocks<T>(n, T{0}, Plus(), [=](index_t begin, index_t) {
    return [=](index_t i, index_t count) {
      const Vec<T> distance = log_sum - (load_some(x + begin + i, count) - largest);
      const Vec<T> w = weight ? load_some(weight + begin + i, count) : broadcast(T{1});
      return keep_first<T>(rounded(w * distance), count, T{0});
    };
  });
}

/// Replaces the exponentials in `dx`, whose sum is `sum`, by the gradient.
template <class T>
inline void finish_gradient(const CrossEntropyArgs<T>& args, index_t target, T a, T sum, T* dx) {
  const T scale = args.gradient_scale;
  const T total = args.weight ? args.weight_sum : static_cast<T>(args.classes);
  const T per_class = args.smoothing / static_cast<T>(args.classes);
  const T factor = (rounded(per_class * total) + a) * scale / sum;
  const T shift = per_class * scale;
  const T* const weight = args.weight;
  for_each_vector<T>(args.classes, [=](index_t i, index_t count) {
    Vec<T> g = rounded(load_some(dx + i, count) * factor);
    if (shift != T{0}) {
      g -= weight ? rounded(load_some(weight + i, count) * shift) : broadcast(shift);
    }
    store_some(dx + i, g, count);
  });
  dx[target] -= rounded(a * scale);
}

template <class T>
inline T cross_entropy_row(const CrossEntropyArgs<T>& args, const T* x, index_t target, T* dx) {
  const index_t n = args.classes;
  const T largest = max_number(n, x);
  const T sum = dx == nullptr ? sum_exp(n, x, largest, [](index_t, Vec<T>, index_t) {})
                              : sum_exp(n, x, largest, [=](index_t i, Vec<T> e, index_t count) {
                                  store_some(dx + i, e, count);
                                });
  const T log_sum = log(broadcast(sum))[0];
  const T a = rounded((T{1} - args.smoothing) * (args.weight ? args.weight[target] : T{1}));
  if (dx != nullptr) finish_gradient(args, target, a, sum, dx);
  const T loss = rounded(a * (log_sum - (x[target] - largest)));
  if (args.smoothing == T{0}) return loss;
  const T per_class = args.smoothing / static_cast<T>(n);
  return loss + rounded(per_class * smooth_loss(n, x, args.weight, largest, log_sum));
}

template <class T>
void cross_entropy(const CrossEntropyArgs<T>& args) noexcept {
  for (index_t row = 0; row < args.rows; ++row) {
    const index_t target = args.targets[row];
    T* const dx = args.dx ? args.dx + row * args.classes : nullptr;
    if (target != args.ignored) {
      args.loss[row] = cross_entropy_row(args, args.x + row * args.x_row, target, dx);
      continue;
    }
    args.loss[row] = 0;
    for (index_t i = 0; dx != nullptr && i < args.classes; ++i) dx[i] = 0;
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
