#include <tessera/nn/loss.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

Tensor random_variable(const Shape& shape) {
  return randn(shape, kFloat64).set_requires_grad();
}

void the_loss_of_classifiers() {
  expect_close("two classes, one row of zeros", cross_entropy_gradient({{0, 0}}, {1}),
               {{0.5, -0.5}},
               {{{{-0.5, 0.5}}, "the signs are reversed: the correct class gets p - 1"},
                {{{0.5, 0.5}}, "1 is subtracted from p at the correct class"},
                {{{0.25, -0.25}}, "N is the number of rows, not of classes"}});
  const Tensor x = random_variable({4, 5});
  const std::vector<index_t> classes = {3, 0, 4, 3};
  Tape tape;
  tape.backward(nn::cross_entropy(x, from_vector(classes)));
  expect_close("cross_entropy_gradient", cross_entropy_gradient(x.detach(), classes), x.grad(),
               {{x.grad() * 4.0, "the loss is a mean: divide by N"}});
}

void the_feed_forward_network() {
  const Tensor x = random_variable({3, 4});
  const Tensor w1 = randn({6, 4}, kFloat64);
  const Tensor w2 = randn({4, 6}, kFloat64);
  const Tensor dy = randn({3, 4}, kFloat64);
  Tape tape;
  tape.backward(linear(relu(linear(x, w1)), w2), dy);
  expect_close(
      "feed_forward_backward", feed_forward_backward(x.detach(), w1, w2, dy), x.grad(),
      {{matmul(matmul(dy, w2), w1), "dh is 0 where h was negative: relu's part is missing"},
       {matmul(relu(matmul(dy, w2)), w1), "the sign of h decides, not the sign of its gradient"}});
}

void the_rms_norm() {
  const Tensor x = random_variable({3, 5});
  const Tensor gamma = uniform(0.5, 2, {5}, kFloat64);
  const Tensor dy = randn({3, 5}, kFloat64);
  Tape tape;
  tape.backward(rms_norm(x, gamma, 0.25), dy);
  const Tensor n = rms_norm(x.detach(), ones({5}, kFloat64), 0.25), r = n / x.detach();
  const Tensor g = dy * gamma;
  expect_close("rms_norm_backward with eps = 0.25", rms_norm_backward(x.detach(), gamma, dy, 0.25),
               x.grad(),
               {{r * g, "r depends on x too: its term is missing"},
                {r * (g - mean(g, {1}, true) - n * mean(g * n, {1}, true)),
                 "nothing is centred: the mean of g is layer norm's"},
                {r * (dy - n * mean(dy * n, {1}, true)), "gamma multiplies dy first"}});
}

std::vector<Exercise> all_exercises() {
  return {
      {"012.1 cross_entropy_gradient",
       "-log p is log(sum of exp(x)) - x at the correct class; differentiate the two terms, and do "
       "not forget 1/N",
       the_loss_of_classifiers},
      {"012.2 feed_forward_backward",
       "from last to first: dh = dy W2, 0 where x W1^T was negative, then dx = dh W1",
       the_feed_forward_network},
      {"012.3 rms_norm_backward",
       "layer norm's formula with n = x r; only one of its two means is left, because nothing is "
       "centred",
       the_rms_norm},
  };
}

}  // namespace tessera::exercises::checks
