// Layer normalisation over contiguous rows.
//
//     y = (s - mean(s)) / sqrt(variance(s) + eps) * weight + bias,    s = x (+ residual)
//
// In two passes over d = s - s[0], which is exact where the row is far from 0 and close together: a
// mean of 1e6 with a deviation of 1 costs no digits, and a constant row gives exactly the bias.
//
// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016, section 3.
#pragma once

#include "tensor/kernels/reduce.h"

namespace tessera::kernels::TESSERA_ISA {

template <class T>
void layer_norm(const LayerNormArgs<T>& args) noexcept {
  const index_t n = args.n;
  if (n == 0) return;
  for (index_t row = 0; row < args.rows; ++row) {
    const T* s = args.x + row * args.x_row;
    T* y = args.y + row * args.y_row;
    if (args.residual != nullptr) {
      const T* residual = args.residual + row * args.residual_row;
      T* sum = args.sum != nullptr ? args.sum + row * n : y;
      for_each_vector<T>(n, [=](index_t i, index_t count) {
        store_some(sum + i, load_some(s + i, count) + load_some(residual + i, count), count);
      });
      s = sum;
    }
    const T first = s[0];
    const T mean = shifted_mean(n, s, 1);
    const T variance = squared_deviations(n, s, 1, mean) / static_cast<T>(n);
    const T rstd = T{1} / sqrt(broadcast(variance + args.eps))[0];
    for_each_vector<T>(n, [=, &args](index_t i, index_t count) {
      const Vec<T> one = broadcast(T{1});
      const Vec<T> weight = args.weight != nullptr ? load_some(args.weight + i, count) : one;
      const Vec<T> bias = args.bias != nullptr ? load_some(args.bias + i, count) : Vec<T>{};
      const Vec<T> normal = ((load_some(s + i, count) - first) - mean) * rstd;
      store_some(y + i, normal * weight + bias, count);
    });
    if (args.mean != nullptr) args.mean[row] = first + mean;
    if (args.rstd != nullptr) args.rstd[row] = rstd;
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
