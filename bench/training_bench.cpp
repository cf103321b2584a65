// The parts of a training step other than forward and backward: the loss and the optimiser.
#include <array>
#include <cmath>
#include <memory>

#include "bench/case.h"
#include "bench/registry.h"
#include "tessera/nn/loss.h"
#include "tessera/nn/training/clip_grad.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

/// A stack of encoder layers of one width.
struct Stack {
  index_t layers, width;

  /// The elements of encoder_parameters.
  double elements() const {
    const auto d = static_cast<double>(width);
    return static_cast<double>(layers) * (12 * d * d + 9 * d);
  }
};

/// The parameters of encoder layers, each with a gradient of ones.
nn::Parameters encoder_parameters(const Stack& stack) {
  const index_t d = stack.width;
  const std::array<Shape, 4> matrices = {Shape{3 * d, d}, Shape{d, d}, Shape{4 * d, d},
                                         Shape{d, 4 * d}};
  nn::Parameters parameters;
  const auto add = [&](const Shape& shape) {
    Tensor w = ones(shape).set_requires_grad();
    Tape tape;
    tape.backward(sum(w));
    parameters.push_back({str_cat("p", parameters.size()), w});
  };
  for (index_t layer = 0; layer < stack.layers; ++layer) {
    for (const Shape& shape : matrices) {
      add(shape);
      add({shape[0]});
    }
  }
  return parameters;
}

/// Gradients of 1 and no decay: every step of Adam subtracts lr.
Case adamw_case(const Stack& stack) {
  const nn::Parameters parameters = encoder_parameters(stack);
  const auto optimizer =
      std::make_shared<nn::AdamW>(parameters, nn::AdamWOptions{.lr = 1e-4, .weight_decay = 0});
  return {
      [=] {
        optimizer->step();
        return parameters.front().tensor.detach();
      },
      [=](const Tensor& w) { return error_of(w, full(w.shape(), 1 - 1e-4, kFloat64), 1e-6); },
      str_cat(static_cast<index_t>(stack.elements()), " parameters"),
  };
}

Case clip_case(const Stack& stack) {
  const nn::Parameters parameters = encoder_parameters(stack);
  const double count = stack.elements();
  return {
      [=] { return full({}, nn::clip_grad_norm(parameters, 2 * std::sqrt(count))); },
      [=](const Tensor& norm) {
        return error_of(norm, full({}, std::sqrt(count), kFloat64), 1e-2);
      },
  };
}

/// The loss and its gradient, as in an encoder's training.
Case cross_entropy_case(index_t rows, index_t classes) {
  const Tensor x = uniform(-3, 3, {rows, classes}).set_requires_grad();
  const Tensor targets = randint(0, classes, {rows});
  return {
      [=] {
        Tape tape;
        return nn::cross_entropy(x, targets).detach();
      },
      [=](const Tensor& loss) {
        return error_of(loss, nn::cross_entropy(x.detach().to(kFloat64), targets), 1e-5);
      },
  };
}

Stack stack_of(Parameters& p) {
  return {p.size("layers"), p.size("d_model")};
}

/// Weights and two moments are read and written, gradients are read; 12 operations per element.
Work adamw_work(Parameters& p) {
  const Stack stack = stack_of(p);
  const Cost cost = {.flops = 12 * stack.elements(), .bytes = bytes_of(7 * stack.elements())};
  return {cost, [=] { return adamw_case(stack); }};
}

/// A square and a sum for each gradient; the norm is not above the limit.
Work clip_work(Parameters& p) {
  const Stack stack = stack_of(p);
  const Cost cost = {.flops = 2 * stack.elements(), .bytes = bytes_of(stack.elements())};
  return {cost, [=] { return clip_case(stack); }};
}

/// A softmax, and a difference for the gradient.
Work cross_entropy_work(Parameters& p) {
  const index_t rows = p.size("rows");
  const index_t classes = p.size("classes");
  const double elements = static_cast<double>(rows) * static_cast<double>(classes);
  const Cost cost = {.flops = 6 * elements, .bytes = bytes_of(2 * elements)};
  return {cost, [=] { return cross_entropy_case(rows, classes); }};
}

}  // namespace

void register_training() {
  register_kind({.name = "adamw",
                 .pattern = "adamw/layers:/d_model:",
                 .what = "a step of AdamW on the parameters of encoder layers",
                 .names = {"adamw/layers:1/d_model:768", "adamw/layers:12/d_model:768"},
                 .work = adamw_work});
  register_kind(
      {.name = "clip_grad_norm",
       .pattern = "clip_grad_norm/layers:/d_model:",
       .what = "the norm of their gradients",
       .names = {"clip_grad_norm/layers:1/d_model:768", "clip_grad_norm/layers:12/d_model:768"},
       .work = clip_work});
  register_kind(
      {.name = "cross_entropy",
       .pattern = "cross_entropy/rows:/classes:",
       .what = "the loss and its gradient",
       .names = {"cross_entropy/rows:1024/classes:1000", "cross_entropy/rows:1024/classes:30522"},
       .work = cross_entropy_work});
}

}  // namespace tessera::bench
