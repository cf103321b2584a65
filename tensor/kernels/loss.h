// Losses with their gradients: cross-entropy over rows of scores, and losses of single elements.
//
// Cross-entropy takes three passes over a row: its maximum; its exponentials and their sum; the
// gradient, from the exponentials, which are still in the cache. With p = softmax(x), target y,
// class weights w (with sum W), smoothing s and C classes:
//
//     a = (1 - s) w_y,  b = s / C
//     loss = a (log sum exp(x) - x_y) + b sum_c w_c (log sum exp(x) - x_c)
//     dloss / dx_c = (a + b W) p_c - b w_c - a [c = y]
#pragma once

#include "tessera/tensor/kernels/softmax.h"

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

// Losses of single elements.

template <class T>
struct LossAndGradient {
  Vec<T> loss;
  Vec<T> dx;
};

template <class T>
inline LossAndGradient<T> squared_error(Vec<T> x, Vec<T> target) {
  const Vec<T> difference = x - target;
  return {rounded(difference * difference), difference + difference};
}

/// log(1 + e) for e in [0, 1], accurate also for small e: log(u) e / (u - 1), in which the rounding
/// error of u = 1 + e cancels. **Source**: Kahan; see D. Goldberg, "What every computer scientist
/// should know about floating-point arithmetic", theorem 4.
template <class T>
inline Vec<T> log1p_of_fraction(Vec<T> e) {
  const Vec<T> u = e + T{1};
  const Vec<T> grown = u - T{1};
  return grown == T{0} ? e : rounded(log(u) * (e / grown));
}

/// With softplus(x) = log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), and p PyTorch's pos_weight:
///
///     loss = (1 - t) softplus(x) + p t softplus(-x)
///     dloss / dx = (1 - t) sigmoid(x) - p t sigmoid(-x)
///
/// No term cancels another if t is 0 or 1.
template <class T>
inline LossAndGradient<T> bce_with_logits(Vec<T> x, Vec<T> target, Vec<T> positive_weight) {
  const Vec<T> e = exp(-abs(x));
  const Vec<T> small = log1p_of_fraction<T>(e);
  const Vec<T> negative = T{1} - target;
  const Vec<T> positive = rounded(positive_weight * target);
  const Vec<T> zero = {};
  const Vec<T> loss_of_negative = rounded(negative * (maximum(x, zero) + small));
  const Vec<T> loss = rounded(positive * (maximum(-x, zero) + small) + loss_of_negative);
  const Vec<T> one = broadcast(T{1});
  const Vec<T> sum = e + one;
  const Vec<T> dx_of_negative = rounded(negative * ((x < zero ? e : one) / sum));
  const Vec<T> dx_of_positive = rounded(positive * ((x < zero ? one : e) / sum));
  return {loss, dx_of_negative - dx_of_positive};
}

/// Squared error for |d| < beta, absolute error beyond, with equal slopes at beta; d = x - t:
///
///     loss = d^2 / (2 beta),    dloss / dx = d / beta      if |d| < beta
///     loss = |d| - beta / 2,    dloss / dx = sign(d)       otherwise
///
/// If d is NaN, the first case applies, so both results are NaN.
template <class T>
inline LossAndGradient<T> smooth_l1(Vec<T> x, Vec<T> target, Vec<T> beta) {
  const Vec<T> zero = {};
  const Vec<T> one = broadcast(T{1});
  const Vec<T> difference = x - target;
  const Vec<T> size = abs(difference);
  const Vec<T> near = difference / beta;
  const Vec<T> far = difference < zero ? -one : difference > zero ? one : zero;
  const Vec<T> near_loss = rounded(rounded(difference * near) * T{0.5});
  const Vec<T> far_loss = size - rounded(beta * T{0.5});
  return {size >= beta ? far_loss : near_loss, size >= beta ? far : near};
}

template <class T, class F>
inline void each_loss(const PointwiseLossArgs<T>& args, const F& f) {
  for_each_vector<T>(args.n, [&](index_t i, index_t count) {
    const Vec<T> weight = args.weight ? load_some(args.weight + i, count) : broadcast(T{1});
    const LossAndGradient<T> of = f(i, count);
    store_some(args.loss + i, rounded(of.loss * weight), count);
    if (args.dx == nullptr) return;
    store_some(args.dx + i, rounded(of.dx * weight) * args.gradient_scale, count);
  });
}

template <class T>
void pointwise_loss(PointwiseLoss loss, const PointwiseLossArgs<T>& args) noexcept {
  const T* const x = args.x;
  const T* const target = args.target;
  const T* const positive = args.positive_weight;
  switch (loss) {
    case PointwiseLoss::kSquaredError:
      return each_loss(args, [=](index_t i, index_t count) {
        return squared_error<T>(load_some(x + i, count), load_some(target + i, count));
      });
    case PointwiseLoss::kBceWithLogits:
      return each_loss(args, [=](index_t i, index_t count) {
        return bce_with_logits<T>(load_some(x + i, count), load_some(target + i, count),
                                  positive ? load_some(positive + i, count) : broadcast(T{1}));
      });
    case PointwiseLoss::kSmoothL1:
      return each_loss(args, [=, beta = args.beta](index_t i, index_t count) {
        return smooth_l1<T>(load_some(x + i, count), load_some(target + i, count), broadcast(beta));
      });
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
