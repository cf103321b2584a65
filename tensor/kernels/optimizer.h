// The steps of the optimisers, each in one pass over the weights and the optimiser's state.
//
// Operations and their order are those of PyTorch, so that float32 weights agree to the last bit on
// processors with fused multiply-add, with one exception: a moment below the smallest normal number
// becomes 0. While a gradient is 0, as that of a rare word's embedding, a moment would shrink to
// such numbers and stay there, and each step would be slow on many processors.
//
// **Source**: torch.optim.SGD, Adam and AdamW, the versions for one tensor at a time; Kingma and
// Ba, "Adam", 2015, algorithm 1; Loshchilov and Hutter, "Decoupled weight decay", 2019.
#pragma once

#include "tessera/tensor/kernels/math.h"
#include "tessera/tensor/kernels/reduce.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

// All loads come before the computation: the load of a partial vector is a branch, and compilers do
// not fuse a product with a sum on the other side of a branch (README.md, rule 3).

/// x, or 0 if |x| is below the smallest normal number.
template <class T>
inline Vec<T> flushed(Vec<T> x) {
  return abs(x) < MathConstants<T>::kSmallestNormal ? Vec<T>{} : x;
}

/// SGD without and with momentum, whose buffer is b:
///
///     g += weight_decay w
///     b = momentum b + gain g        (b = g at the first step)
///     w -= rate b                    (Nesterov: rate (g + momentum b))
template <class T>
void sgd(const SgdArgs<T>& args) noexcept {
  for_each_vector<T>(args.n, [a = args](index_t i, index_t count) {
    const Vec<T> w = load_some(a.w + i, count);
    Vec<T> g = load_some(a.gradient + i, count);
    Vec<T> b = {};
    if (a.buffer != nullptr && !a.first) b = load_some(a.buffer + i, count);
    if (a.weight_decay != T{0}) g = rounded(w * a.weight_decay + g);
    Vec<T> direction = g;
    if (a.buffer != nullptr) {
      b = rounded(b * a.momentum);
      b = flushed<T>(a.first ? g : rounded(g * a.gain + b));
      direction = a.nesterov ? rounded(b * a.momentum + g) : b;
      store_some(a.buffer + i, b, count);
    }
    store_some(a.w + i, rounded(direction * -a.rate + w), count);
  });
}

/// Adam's moments and step, with the fields of AdamArgs:
///
///     g += l2 w,  w *= keep
///     m = beta1 m + gain1 g
///     v = beta2 v + gain2 g^2
///     w -= step m / (sqrt(v) / root + eps)
template <class T>
void adam(const AdamArgs<T>& args) noexcept {
  for_each_vector<T>(args.n, [a = args](index_t i, index_t count) {
    const Vec<T> w = load_some(a.w + i, count);
    Vec<T> g = load_some(a.gradient + i, count);
    Vec<T> m = load_some(a.m + i, count);
    Vec<T> v = load_some(a.v + i, count);
    if (a.l2 != T{0}) g = rounded(w * a.l2 + g);
    m = rounded(m * a.beta1);
    m = flushed<T>(rounded(g * a.gain1 + m));
    v = rounded(v * a.beta2);
    v = flushed<T>(rounded(rounded(g * a.gain2) * g + v));
    const Vec<T> change = rounded(m * a.step) / (sqrt(v) / a.root + a.eps);
    store_some(a.m + i, m, count);
    store_some(a.v + i, v, count);
    store_some(a.w + i, rounded(w * a.keep) - change, count);
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
