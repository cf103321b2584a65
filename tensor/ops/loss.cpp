#include "tessera/tensor/ops/loss.h"

#include <array>
#include <cmath>
#include <string>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera {

namespace {

using detail::data_or_null;
using detail::reduced;
using kernels::PointwiseLoss;

/// The cost of a score, in elementary operations: an exponential and three passes.
constexpr index_t kCrossEntropyCost = 10;
constexpr index_t kPointwiseCost = 16;

/// The gradient of a loss, from `dx`, the gradient for dy = 1.
Tensor times(const Tensor& dx, const Tensor& dy) {
  return dy.count() == 1 && dy.item() == 1 ? dx : dx * dy;
}

// ---- cross-entropy ----

/// Throws if either is undefined.
void check_defined(const char* op, const Tensor& x, const Tensor& targets) {
  require(x.defined() && targets.defined(), op, x.defined() ? "the target" : "x",
          " must be defined, got an undefined tensor");
}

/// Checks the arguments that cross_entropy and nll_loss share.
void check_classes(const char* op, const Tensor& x, const Tensor& targets, const Tensor& weight) {
  check_defined(op, x, targets);
  require(is_floating(x.dtype()) && x.rank() >= 1, op, "x must be floating scores (..., C), got ",
          x.dtype(), ' ', x.shape());
  require(x.size(-1) > 0, op, "x must have scores of at least 1 class, got shape ", x.shape());
  require(targets.dtype() == kInt64, op, "targets must be int64, got ", targets.dtype());
  require(targets.shape() == reduced_shape(x.shape(), {x.rank() - 1}, false), op,
          "targets must have the shape of x, ", x.shape(),
          ", without its last axis, the classes, got ", targets.shape());
  if (!weight.defined()) return;
  require(weight.shape() == Shape{x.size(-1)} && weight.dtype() == x.dtype(), op, "weight must be ",
          x.dtype(), ' ', Shape{x.size(-1)}, ", a number for each class, got ", weight.dtype(), ' ',
          weight.shape());
  refuse_gradient(str_cat("the weight of ", op).c_str(), {&weight});
}

/// The number of targets that are not ignored; all of these must be classes.
index_t count_targets(const char* op, const Tensor& targets, index_t ignored, index_t classes) {
  const index_t* const y = targets.data<index_t>();
  index_t counted = 0;
  for (index_t i = 0; i < targets.count(); ++i) {
    if (y[i] == ignored) continue;
    require(y[i] >= 0 && y[i] < classes, op, "targets must be from 0 to ", classes - 1,
            ", or ignore_index ", ignored, ", got ", y[i], " at position ", i);
    ++counted;
  }
  return counted;
}

/// The sum of the weights of the targets that are not ignored.
double weight_of_targets(const Tensor& targets, index_t ignored, const Tensor& weight) {
  const Tensor counts = ne(targets, ignored);
  const Tensor classes = where(counts, targets, 0).flatten();
  return sum(where(counts.flatten(), index_select(weight, 0, classes), 0)).item();
}

template <class T>
void run_cross_entropy(const kernels::CrossEntropyArgs<T>& all) {
  const auto kernel = kernels::table<T>().cross_entropy;
  kernels::parallel_for(all.rows, kCrossEntropyCost * all.classes, [&](index_t begin, index_t end) {
    kernels::CrossEntropyArgs<T> piece = all;
    piece.rows = end - begin;
    piece.x += begin * all.x_row;
    piece.targets += begin;
    piece.loss += begin;
    if (all.dx != nullptr) piece.dx += begin * all.classes;
    kernel(piece);
  });
}

// ---- losses of single elements ----

/// `x` (of any dtype) as contiguous elements of the shape and dtype of `like`.
Tensor elements_like(const char* op, const char* what, const Tensor& x, const Tensor& like) {
  if (!x.defined()) return x;
  const std::string name = str_cat(op, ": ", what);
  require(broadcast_shapes(name.c_str(), x.shape(), like.shape()) == like.shape(), name.c_str(),
          "must broadcast to shape ", like.shape(), ", got ", x.shape());
  return x.detach().to(like.dtype()).expand(like.shape()).contiguous();
}

void check_pointwise(const char* op, const Tensor& x, const Tensor& target) {
  check_defined(op, x, target);
  require(is_floating(x.dtype()), op, "x must be floating, got ", x.dtype());
  require(x.shape() == target.shape(), op, "x and the target must have the same shape, got ",
          x.shape(), " and ", target.shape());
}

/// A loss of single elements and its contiguous operands: x, the target, the weight and the
/// positive weight; and beta, if the loss has one.
struct Pointwise {
  PointwiseLoss loss;
  std::array<Tensor, 4> operands;
  double beta = 1;
};

/// Computes the losses of `of`, and in `dx`, if defined, `scale` times the gradients.
template <class T>
void run_pointwise(const Pointwise& of, double scale, Tensor& losses, Tensor& dx) {
  const auto& [x, target, weight, positive_weight] = of.operands;
  const kernels::PointwiseLossArgs<T> all = {
      .n = x.count(),
      .x = x.data<T>(),
      .target = target.data<T>(),
      .weight = data_or_null<T>(weight),
      .positive_weight = data_or_null<T>(positive_weight),
      .loss = losses.mutable_data<T>(),
      .dx = dx.defined() ? dx.mutable_data<T>() : nullptr,
      .gradient_scale = static_cast<T>(scale),
      .beta = static_cast<T>(of.beta),
  };
  const auto kernel = kernels::table<T>().pointwise_loss;
  kernels::parallel_for(all.n, kPointwiseCost, [&](index_t begin, index_t end) {
    kernels::PointwiseLossArgs<T> piece = all;
    piece.n = end - begin;
    piece.x += begin;
    piece.target += begin;
    piece.loss += begin;
    if (all.weight != nullptr) piece.weight += begin;
    if (all.positive_weight != nullptr) piece.positive_weight += begin;
    if (all.dx != nullptr) piece.dx += begin;
    kernel(of.loss, piece);
  });
}

/// The common part of losses of single elements: the value and, in `dx` if requested, the gradient
/// for dy = 1.
Tensor pointwise(const char* op, const Pointwise& of, Reduction reduction, bool with_gradient,
                 Tensor& dx) {
  const Tensor& x = of.operands[0];
  const auto count = static_cast<double>(x.count());
  const double scale = reduction == Reduction::kMean ? 1 / count : 1;
  Tensor losses = Tensor::empty(x.shape(), x.dtype());
  if (with_gradient) dx = Tensor::empty(x.shape(), x.dtype());
  visit_floating(x.dtype(),
                 [&](auto kind) { run_pointwise<decltype(kind)>(of, scale, losses, dx); });
  return reduced(op, losses, reduction, count);
}

/// A loss of the differences x - target, so that the target's gradient is the negated gradient of
/// x.
Tensor loss_of_differences(const char* name, PointwiseLoss loss, const Tensor& x,
                           const Tensor& target, Reduction reduction, double beta = 1) {
  check_pointwise(name, x, target);
  Recording op(name, {&x, &target});
  const Pointwise of = {loss,
                        {elements_like(name, "x", x, x),
                         elements_like(name, "the target", target, x), Tensor(), Tensor()},
                        beta};
  Tensor dx;
  const Tensor y = pointwise(name, of, reduction, static_cast<bool>(op), dx);
  return op.finish(y, [&] {
    return [dx](const Tensor& dy, Gradients& of_inputs) {
      const Tensor gradient = times(dx, dy);
      of_inputs.add(0, gradient);
      if (of_inputs.needs_gradient(1)) of_inputs.add(1, -gradient);
    };
  });
}

}  // namespace

Tensor detail::reduced(const char* op, const Tensor& losses, Reduction reduction, double count) {
  switch (reduction) {
    case Reduction::kNone:
      return losses;
    case Reduction::kSum:
      return sum(losses);
    case Reduction::kMean:
      return sum(losses) / count;
  }
  fail_enum(op, "reduction", reduction);
}

Tensor cross_entropy(const Tensor& x, const Tensor& targets, const CrossEntropyOptions& options) {
  constexpr const char* kOp = "cross_entropy";
  check_classes(kOp, x, targets, options.weight);
  const double smoothing = options.label_smoothing;
  require(smoothing >= 0 && smoothing <= 1, kOp, "label_smoothing must be in [0, 1], got ",
          smoothing);
  Recording op(kOp, {&x});
  const index_t classes = x.size(-1);
  const Tensor y = targets.contiguous();
  const Tensor weight = options.weight.defined() ? options.weight.contiguous() : Tensor();
  const index_t ignored = options.ignore_index;
  auto count = static_cast<double>(count_targets(kOp, y, ignored, classes));
  if (weight.defined() && count > 0) count = weight_of_targets(y, ignored, weight);
  const Tensor rows = detail::as_rows(x, {x.rank() - 1});
  Tensor losses = Tensor::empty(y.shape(), x.dtype());
  Tensor dx = op ? Tensor::empty(x.shape(), x.dtype()) : Tensor();
  visit_floating(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    run_cross_entropy<T>({
        .rows = rows.size(0),
        .classes = classes,
        .x = rows.data<T>(),
        .x_row = rows.strides()[0],
        .targets = y.data<index_t>(),
        .ignored = ignored,
        .smoothing = static_cast<T>(smoothing),
        .weight = data_or_null<T>(weight),
        .weight_sum = weight.defined() ? sum(weight).item<T>() : T{0},
        .loss = losses.mutable_data<T>(),
        .dx = op ? dx.mutable_data<T>() : nullptr,
        .gradient_scale = static_cast<T>(options.reduction == Reduction::kMean ? 1 / count : 1),
    });
  });
  return op.finish(reduced(kOp, losses, options.reduction, count), [&] {
    const bool each = options.reduction == Reduction::kNone;
    return [dx, each](const Tensor& dy, Gradients& of) {
      of.add(0, times(dx, each ? dy.unsqueeze(-1) : dy));
    };
  });
}

Tensor nll_loss(const Tensor& x, const Tensor& targets, const NllOptions& options) {
  constexpr const char* kOp = "nll_loss";
  check_classes(kOp, x, targets, options.weight);
  const Tensor& weight = options.weight;
  const Tensor y = targets.contiguous();
  const index_t ignored = options.ignore_index;
  auto count = static_cast<double>(count_targets(kOp, y, ignored, x.size(-1)));
  const Tensor counts = ne(y, ignored);
  const Tensor classes = where(counts, y, 0);
  Tensor losses = -gather(x, -1, classes.unsqueeze(-1)).squeeze(-1);
  if (weight.defined()) {
    // An ignored row has no class: an infinite weight of class 0 would make the row's gradient NaN.
    const Tensor weights = index_select(weight, 0, classes.flatten()).reshape(y.shape());
    losses = losses * where(counts, weights, 1);
    count = weight_of_targets(y, ignored, weight);
  }
  return reduced(kOp, where(counts, losses, 0), options.reduction, count);
}

Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options) {
  constexpr const char* kOp = "kl_div";
  check_pointwise(kOp, x, target);
  // An element without probability, or with one that underflows, has a loss and a gradient of 0:
  // the last `where` replaces 0 times -inf, the one in `safe` does so in the backward.
  const Tensor t = target.to(x.dtype());
  const Tensor counts = ne(options.log_target ? exp(t.detach()) : t, 0);
  const Tensor safe = where(counts, t, options.log_target ? 0 : 1);
  const Tensor probability = options.log_target ? exp(safe) : safe;
  const Tensor log_probability = options.log_target ? safe : log(safe);
  const Tensor losses = where(counts, probability * (log_probability - x), 0);
  switch (options.reduction) {
    case KlReduction::kNone:
      return losses;
    case KlReduction::kSum:
      return sum(losses);
    case KlReduction::kMean:
      return mean(losses);
    case KlReduction::kBatchMean:
      require(x.rank() >= 1, kOp, "x must have a first axis for kBatchMean, got shape ()");
      return sum(losses) / x.size(0);
  }
  fail_enum(kOp, "reduction", options.reduction);
}

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceOptions& options) {
  constexpr const char* kOp = "bce_with_logits";
  check_pointwise(kOp, x, target);
  refuse_gradient("the target or a weight of bce_with_logits",
                  {&target, &options.weight, &options.pos_weight});
  Recording op(kOp, {&x});
  const Pointwise all = {
      PointwiseLoss::kBceWithLogits,
      {elements_like(kOp, "x", x, x), elements_like(kOp, "the target", target, x),
       elements_like(kOp, "weight", options.weight, x),
       elements_like(kOp, "pos_weight", options.pos_weight, x)}};
  Tensor dx;
  const Tensor loss = pointwise(kOp, all, options.reduction, op.needs_gradient(0), dx);
  return op.finish(
      loss, [&] { return [dx](const Tensor& dy, Gradients& of) { of.add(0, times(dx, dy)); }; });
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return loss_of_differences("mse_loss", PointwiseLoss::kSquaredError, x, target, reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1Options& options) {
  const double beta = options.beta;
  require(beta >= 0 && std::isfinite(beta), "smooth_l1_loss",
          "beta must be finite and at least 0, got ", beta);
  return loss_of_differences("smooth_l1_loss", PointwiseLoss::kSmoothL1, x, target,
                             options.reduction, beta);
}

}  // namespace tessera
