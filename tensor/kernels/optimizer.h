// The steps of the optimisers, each one pass over the weights and what is kept beside them.
//
// Operations and their order are PyTorch's, so that float32 weights agree to the last bit where the
// machine has a fused multiply-add, but for one thing: a moment below the smallest normal number
// becomes 0. Where a gradient stays away, as that of a rare word's embedding, a moment would shrink
// to such numbers and stay there, and on many processors each step would trip over them.
//
// **Source**: torch.optim.SGD, Adam and AdamW, the versions for one tensor at a time; Kingma and
// Ba, "Adam" (2015), algorithm 1; Loshchilov and Hutter, "Decoupled weight decay" (2019).
#pragma once

#include "tensor/kernels/math.h"
#include "tensor/kernels/reduce.h"
#include "tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

/// x, or 0 for what is below the smallest normal number.
template <class T>
inline Vec<T> flushed(Vec<T> x) {
  return abs(x) < MathConstants<T>::kSmallestNormal ? Vec<T>{} : x;
}

/// What the n elements move along, without and with the momentum's buffer b:
///
///     g += weight_decay w
///     b = momentum b + gain g        (b = g at the first step)
///     w -= rate b                    (Nesterov: rate (g + momentum b))
template <class T>
void sgd(const SgdArgs<T>& args) noexcept {
  for_each_vector<T>(args.n, [a = args](index_t i, index_t count) {
    const Vec<T> w = load_some(a.w + i, count);
    Vec<T> g = load_some(a.gradient + i, count);
    if (a.weight_decay != T{0}) g += w * a.weight_decay;
    if (a.buffer != nullptr) {
      Vec<T> b = g;
      if (!a.first) b = rounded(load_some(a.buffer + i, count) * a.momentum) + g * a.gain;
      b = flushed<T>(b);
      store_some(a.buffer + i, b, count);
      g = a.nesterov ? g + b * a.momentum : b;
    }
    store_some(a.w + i, w - g * a.rate, count);
  });
}

/// Adam's moments and step:
///
///     g += l2 w,  w *= keep
///     m = beta1 m + gain1 g
///     v = beta2 v + gain2 g^2
///     w -= step m / (sqrt(v) / root + eps)
template <class T>
void adam(const AdamArgs<T>& args) noexcept {
  for_each_vector<T>(args.n, [a = args](index_t i, index_t count) {
    Vec<T> w = load_some(a.w + i, count);
    Vec<T> g = load_some(a.gradient + i, count);
    if (a.l2 != T{0}) g += w * a.l2;
    w = rounded(w * a.keep);
    const Vec<T> m = flushed<T>(rounded(load_some(a.m + i, count) * a.beta1) + g * a.gain1);
    const Vec<T> v =
        flushed<T>(rounded(load_some(a.v + i, count) * a.beta2) + rounded(g * a.gain2) * g);
    store_some(a.m + i, m, count);
    store_some(a.v + i, v, count);
    store_some(a.w + i, w - rounded(m * a.step) / (sqrt(v) / a.root + a.eps), count);
  });
}

template <class T>
double sum_of_squares(index_t n, const T* x) noexcept {
  double total = 0;
  double wide[RowBlocks<T>::kBlock];
  for_each_block<T>(n, [&](index_t begin, index_t count) {
    for (index_t i = 0; i < count; ++i) wide[i] = static_cast<double>(x[begin + i]);
    total += reduce_row(count, wide, 1, 0.0, Plus(), [](Vec<double> v) { return rounded(v * v); });
  });
  return total;
}

}  // namespace tessera::kernels::TESSERA_ISA
