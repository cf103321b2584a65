#include <tessera/nn/linear.h>
#include <tessera/nn/loss.h>
#include <tessera/nn/module.h>
#include <tessera/nn/training/lr_scheduler.h>
#include <tessera/nn/training/optim.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

/// A layer of float64 with gradients.
nn::Linear make_layer(Rng& rng) {
  nn::Linear layer({.in_features = 3, .out_features = 2, .bias = false}, rng);
  nn::convert(layer, kFloat64);
  nn::set_requires_grad(layer);
  return layer;
}

/// The gradient of the mean squared error over some rows.
Matrix gradient_over(nn::Linear& layer, const Tensor& x, const Tensor& t) {
  Tape tape;
  tape.backward(nn::mse_loss(layer(x), t));
  Matrix gradient = layer.weight->grad();
  nn::zero_grad(layer);
  return gradient;
}

void momentum_is_the_librarys() {
  Matrix one = {{1}};
  Matrix kept = {{10}};
  momentum_step(one, kept, {{2}}, 0.5, 0.25);
  expect_close("b of one number", kept, {{4.5}},
               {{{{4}}, "g is added whole, without a factor 1 - momentum"},
                {{{10}}, "b keeps its old value: the next step needs the new one"},
                {{{3.5}}, "lr multiplies b when w changes, not g"}});
  expect_close("w of one number", one, {{-1.25}},
               {{{{-4}}, "the old b is used: the same step uses the new one"},
                {{{3.25}}, "w must go against the gradient: subtract"}});

  Rng rng(1);
  const nn::Linear layer = make_layer(rng);
  nn::SGD optimizer(layer, {.lr = 0.1, .momentum = 0.9});
  Matrix w = layer.weight->detach();
  Matrix b(2, 3);
  for (int step = 1; step <= 5; ++step) {
    Tape tape;
    tape.backward(nn::mse_loss(layer(randn({4, 3}, kFloat64, rng)), randn({4, 2}, kFloat64, rng)));
    momentum_step(w, b, layer.weight->grad(), 0.1, 0.9);
    optimizer.step();
    optimizer.zero_grad();
    expect_close(str_cat("w after step ", step), w, layer.weight->detach());
  }
}

void the_schedule_is_the_librarys() {
  for (const index_t warmup : {0, 4}) {
    const nn::Schedule schedule = nn::linear_schedule(warmup, 20);
    for (index_t step = 0; step <= 20; ++step) {
      expect_close(str_cat("linear_schedule(", step, ", ", warmup, ", 20)"),
                   linear_schedule(step, warmup, 20), schedule(step),
                   {{0, "a quotient of integers loses its fraction: convert to double first"},
                    {static_cast<double>(20 - step) / 20,
                     "the line falls over the steps without warm-up: divide by total - warmup"}});
    }
  }
}

void the_parts_are_the_batch() {
  expect_close("three examples with 1, and one with 5",
               gradient_of_the_batch({Matrix{{1}}, Matrix{{5}}}, {3, 1}), {{2}},
               {{{{3}}, "this is the mean of means: each counts as often as it has examples"},
                {{{8}}, "this is a sum: divide by the number of all examples"}});
  Rng rng(3);
  nn::Linear layer = make_layer(rng);
  const Tensor x = randn({10, 3}, kFloat64, rng);
  const Tensor t = randn({10, 2}, kFloat64, rng);
  std::vector<Matrix> parts;
  const std::vector<index_t> counts = {7, 1, 2};
  index_t begin = 0;
  for (const index_t count : counts) {
    parts.push_back(
        gradient_over(layer, x.slice(0, begin, begin + count), t.slice(0, begin, begin + count)));
    begin += count;
  }
  expect_close("gradient_of_the_batch", gradient_of_the_batch(parts, counts),
               gradient_over(layer, x, t));
}

std::vector<Exercise> all_exercises() {
  return {
      {"013.1 momentum_step", "the new b is used in the same step, and b stays for the next one",
       momentum_is_the_librarys},
      {"013.2 linear_schedule",
       "after the warm-up it is what is left of the steps, divided by the steps without warm-up; "
       "and 1 / 4 of integers is 0",
       the_schedule_is_the_librarys},
      {"013.3 gradient_of_the_batch",
       "a mean times its count is a sum; add the sums, and divide once", the_parts_are_the_batch},
  };
}

}  // namespace tessera::exercises::checks
