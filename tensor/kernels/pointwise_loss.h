// Losses of single elements, each with its gradient.
#pragma once

#include "tensor/kernels/math.h"
#include "tensor/kernels/reduce.h"
#include "tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

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
