// What a training step does besides forward and backward: the loss and the optimiser.
#include <array>
#include <cmath>
#include <memory>

#include "bench/case.h"
#include "nn/loss.h"
#include "nn/training/clip_grad.h"
#include "nn/training/optim.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

/// The parameters of `layers` encoder layers of width 768, each with a gradient of ones.
nn::Parameters encoder_parameters(index_t layers) {
  constexpr index_t kWidth = 768;
  const std::array<Shape, 4> matrices = {Shape{3 * kWidth, kWidth}, Shape{kWidth, kWidth},
                                         Shape{4 * kWidth, kWidth}, Shape{kWidth, 4 * kWidth}};
  nn::Parameters parameters;
  const auto add = [&](const Shape& shape) {
    Tensor w = ones(shape).set_requires_grad();
    Tape tape;
    tape.backward(sum(w));
    parameters.push_back({format("p", parameters.size()), w});
  };
  for (index_t layer = 0; layer < layers; ++layer) {
    for (const Shape& shape : matrices) {
      add(shape);
      add({shape[0]});
    }
  }
  return parameters;
}

index_t element_count(const nn::Parameters& parameters) {
  index_t count = 0;
  for (const nn::Parameter& parameter : parameters) count += parameter.tensor.count();
  return count;
}

/// Gradients of 1 and no decay: every step of Adam goes down by lr.
Case adamw_case(index_t layers) {
  const nn::Parameters parameters = encoder_parameters(layers);
  const auto optimizer =
      std::make_shared<nn::AdamW>(parameters, nn::AdamWOptions{.lr = 1e-4, .weight_decay = 0});
  return {
      [=] {
        optimizer->step();
        return parameters.front().tensor.detach();
      },
      [=](const Tensor& w) {
        return sampled_error(
            w, 500, [](index_t) { return 1 - 1e-4; }, 1e-6);
      },
      format(element_count(parameters), " parameters"),
  };
}

Case clip_case(index_t layers) {
  const nn::Parameters parameters = encoder_parameters(layers);
  const auto count = static_cast<double>(element_count(parameters));
  return {
      [=] { return full({}, nn::clip_grad_norm(parameters, 2 * std::sqrt(count))); },
      [=](const Tensor& norm) {
        return sampled_error(
            norm, 1, [=](index_t) { return std::sqrt(count); }, 1e-2);
      },
  };
}

/// The loss and, as an encoder's training does, its gradient.
Case cross_entropy_case(index_t rows, index_t classes) {
  const Tensor x = uniform({rows, classes}, -3, 3).set_requires_grad();
  const Tensor targets = randint(0, classes, {rows});
  return {
      [=] {
        Tape tape;
        return nn::cross_entropy(x, targets).detach();
      },
      [=](const Tensor& loss) {
        const Tensor values = x.detach();
        const auto expected = [&](index_t) {
          double total = 0;
          for (index_t row = 0; row < rows; ++row) {
            const float* at = values.data<float>() + row * classes;
            double sum = 0;
            for (index_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(at[c]));
            total += std::log(sum) - static_cast<double>(at[targets.data<index_t>()[row]]);
          }
          return total / static_cast<double>(rows);
        };
        return sampled_error(loss, 1, expected, 1e-5);
      },
  };
}

}  // namespace

void register_training() {
  for (const index_t layers : {1, 12}) {
    const index_t count = element_count(encoder_parameters(1)) * layers;
    const auto bytes = static_cast<double>(count) * sizeof(float);
    // Weights and two moments are read and written, gradients read.
    register_case(format("adamw/layers:", layers, "/d_model:768"), {.bytes = 7 * bytes},
                  [=] { return adamw_case(layers); });
    register_case(format("clip_grad_norm/layers:", layers, "/d_model:768"), {.bytes = bytes},
                  [=] { return clip_case(layers); });
  }
  constexpr std::array<std::array<index_t, 2>, 2> kSizes = {{{1024, 1000}, {1024, 30522}}};
  for (const auto& [rows, classes] : kSizes) {
    register_case(
        format("cross_entropy/rows:", rows, "/classes:", classes),
        {.bytes = 8.0 * static_cast<double>(rows * classes)},
        [=, rows = rows, classes = classes] { return cross_entropy_case(rows, classes); });
  }
}

}  // namespace tessera::bench
