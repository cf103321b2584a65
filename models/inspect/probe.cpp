#include "tessera/models/inspect/probe.h"

#include <cmath>
#include <utility>
#include <vector>

#include "tessera/nn/linear.h"
#include "tessera/nn/loss.h"
#include "tessera/nn/module.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"

namespace tessera::inspect {

namespace {

struct Part {
  Tensor x;
  Tensor labels;
};

/// The fraction of `held_out` that a classifier predicts correctly after training on `train`.
double accuracy_of(const Part& train, const Part& held_out, index_t classes,
                   const ProbeOptions& options) {
  Rng rng(options.seed);
  nn::Linear probe({.in_features = train.x.size(1), .out_features = classes}, rng);
  nn::set_requires_grad(probe);
  nn::AdamW optimizer(nn::parameters(probe), {.lr = 0.05, .weight_decay = options.weight_decay});
  for (index_t step = 0; step < options.steps; ++step) {
    Tape tape;
    tape.backward(nn::cross_entropy(probe(train.x), train.labels));
    optimizer.step();
    optimizer.zero_grad();
  }
  const Tensor right = eq(argmax(probe(held_out.x), {1}), held_out.labels);
  return mean(right.to(kFloat64)).item();
}

}  // namespace

Probe linear_probe(const Tensor& x, const Tensor& labels, const ProbeOptions& options) {
  constexpr const char* kOp = "linear_probe";
  require(x.rank() == 2, kOp, "x must have shape (N, D), got ", x.shape());
  const index_t rows = x.size(0);
  require(labels.shape() == Shape({rows}) && labels.dtype() == kInt64, kOp,
          "labels must be int64 of shape (", rows, "), got ", labels.dtype(), " of ",
          labels.shape());
  require(options.held_out > 0 && options.held_out < 1, kOp, "held_out must be in (0, 1), got ",
          options.held_out);
  const auto held = static_cast<index_t>(options.held_out * static_cast<double>(rows));
  require(held >= 2 && rows - held >= 2, kOp, "both parts must have at least 2 rows, got ", held,
          " of ", rows, " held out");
  require(options.steps >= 0, kOp, "steps must be at least 0, got ", options.steps);
  require(min(labels).item<index_t>() >= 0, kOp, "labels must be at least 0, got ",
          min(labels).item<index_t>());
  require(all(isfinite(x)).item<bool>(), kOp, "x must be finite, got inf or NaN");
  const index_t classes = max(labels).item<index_t>() + 1;

  Rng rng(options.seed, 1);
  const Tensor order = permutation(rows, rng);
  const Tensor held_rows = order.slice(0, 0, held);
  const Tensor kept_rows = order.slice(0, held);
  const Tensor kept = index_select(x, 0, kept_rows).to(kFloat32);
  const Tensor centre = mean(kept, {0});
  const Tensor scale = std_dev(kept, {0}, false, 0) + 1e-6;
  const auto parts_of = [&](const Tensor& of) {
    const auto part = [&](const Tensor& chosen) {
      return Part{(index_select(x, 0, chosen).to(kFloat32) - centre) / scale,
                  index_select(of, 0, chosen)};
    };
    return std::pair{part(kept_rows), part(held_rows)};
  };
  const auto [train, held_out] = parts_of(labels);
  const auto [train_shuffled, held_shuffled] =
      parts_of(index_select(labels, 0, permutation(rows, rng)));
  const Tensor counts = sum(one_hot(held_out.labels, classes), {0});
  return {.accuracy = accuracy_of(train, held_out, classes, options),
          .shuffled = accuracy_of(train_shuffled, held_shuffled, classes, options),
          .majority_accuracy = max(counts).item() / static_cast<double>(held)};
}

double linear_cka(const Tensor& x, const Tensor& y) {
  constexpr const char* kOp = "linear_cka";
  require(x.rank() == 2 && y.rank() == 2 && x.size(0) == y.size(0) && x.size(0) >= 2, kOp,
          "x and y must have shapes (N, D) and (N, E) with N of at least 2, got ", x.shape(),
          " and ", y.shape());
  const auto centred = [](const Tensor& of) {
    const Tensor wide = of.to(kFloat64);
    return wide - mean(wide, {0}, true);
  };
  const Tensor a = centred(x);
  const Tensor b = centred(y);
  const auto size = [](const Tensor& p, const Tensor& q) { return norm(matmul(p.t(), q)).item(); };
  const double both = size(b, a);
  const double sizes = size(a, a) * size(b, b);
  require(std::isfinite(sizes) && sizes > 0, kOp, "x and y must be finite and not constant");
  return both * both / sizes;
}

}  // namespace tessera::inspect
