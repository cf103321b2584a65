// A training loop by hand: gradients, SGD, AdamW, warm-up and clipping in plain loops.
//
// A network with eight hidden units learns t = sin(3 x) at 16 points:
//
//     f(x) = w2 tanh(w1 x + b1) + b2,      L = mean of (f(x) - t)^2
//
// Each part is compared with the library's: the gradients with a Tape, the steps with nn::SGD and
// nn::AdamW, the rates with nn::cosine_schedule, clipping with nn::clip_grad_norm, and the complete
// loop with nn::Trainer. Then come some common mistakes and their effects.
//
//   013_a_training_loop_by_hand [FOLDER]     prints; draws FOLDER/013_losses.svg
//
// Source: Kingma and Ba, "Adam", 2015, algorithm 1; Loshchilov and Hutter, "Decoupled weight decay
// regularization", 2019, algorithm 2, and "SGDR", 2017, eq. 5; Pascanu, Mikolov and Bengio, "On the
// difficulty of training recurrent neural networks", 2013, algorithm 1.
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>
#include <set>
#include <tuple>
#include <vector>

#include <tessera/models/pages/chart.h>
#include <tessera/nn/nn.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr index_t kPoints = 16;
constexpr index_t kHidden = 8;
constexpr int kSteps = 500;
constexpr int kWarmup = 25;
constexpr double kSgdRate = 0.1;
constexpr double kAdamRate = 0.03;
constexpr double kWeightDecay = 0.01;
constexpr double kClip = 0.5;

// ---- the network and its gradient ----

/// The weights; or, for each of them, its gradient or an optimiser's state.
struct Weights {
  Matrix w1 = Matrix(kHidden, 1);
  Matrix b1 = Matrix(1, kHidden);
  Matrix w2 = Matrix(1, kHidden);
  Matrix b2 = Matrix(1, 1);
};

/// Calls f(a, b, ...) with each number of the first and the numbers at the same position in the
/// others.
template <class F, class... All>
void for_each_number(const F& f, All&... all) {
  for (Matrix Weights::*part : {&Weights::w1, &Weights::b1, &Weights::w2, &Weights::b2}) {
    const Matrix sizes = std::get<0>(std::tie(all...)).*part;
    for (index_t i = 0; i < sizes.rows(); ++i) {
      for (index_t j = 0; j < sizes.columns(); ++j) f((all.*part)(i, j)...);
    }
  }
}

struct Points {
  Matrix x = Matrix(kPoints, 1);
  Matrix t = Matrix(kPoints, 1);

  Points() {
    for (index_t i = 0; i < kPoints; ++i) {
      x(i, 0) = -1 + 2 * static_cast<double>(i) / (kPoints - 1);
      t(i, 0) = std::sin(3 * x(i, 0));
    }
  }
};

/// The loss, and its gradients in `g`. Each iteration has the forward and backward of one point.
double loss_and_gradients(const Weights& w, const Points& points, Weights& g) {
  g = Weights();
  double loss = 0;
  for (index_t i = 0; i < kPoints; ++i) {
    const double x = points.x(i, 0);
    double h[kHidden];
    double y = w.b2(0, 0);
    for (index_t k = 0; k < kHidden; ++k) {
      h[k] = std::tanh(w.w1(k, 0) * x + w.b1(0, k));
      y += w.w2(0, k) * h[k];
    }
    const double error = y - points.t(i, 0);
    loss += error * error / kPoints;

    const double dy = 2 * error / kPoints;
    g.b2(0, 0) += dy;
    for (index_t k = 0; k < kHidden; ++k) {
      g.w2(0, k) += dy * h[k];
      const double da = dy * w.w2(0, k) * (1 - h[k] * h[k]);  // tanh' = 1 - tanh^2
      g.b1(0, k) += da;
      g.w1(k, 0) += da * x;
    }
  }
  return loss;
}

Weights start() {
  Rng rng(5);
  Weights w;
  w.w1 = randn({kHidden, 1}, kFloat64, rng);
  w.b1 = randn({1, kHidden}, kFloat64, rng);
  w.w2 = randn({1, kHidden}, kFloat64, rng) / std::sqrt(static_cast<double>(kHidden));
  return w;
}

// ---- the steps ----

void sgd_step(Weights& w, Weights g, double lr) {
  for_each_number([&](double& weight, double& gradient) { weight -= lr * gradient; }, w, g);
}

struct AdamWByHand {
  Weights m = {};
  Weights v = {};
  int t = 0;

  void step(Weights& w, Weights g, double lr) {
    constexpr double kBeta1 = 0.9;
    constexpr double kBeta2 = 0.999;
    constexpr double kEps = 1e-8;
    ++t;
    const double correct1 = 1 - std::pow(kBeta1, t);
    const double correct2 = 1 - std::pow(kBeta2, t);
    for_each_number(
        [&](double& weight, double& gradient, double& mean, double& square) {
          mean = kBeta1 * mean + (1 - kBeta1) * gradient;
          square = kBeta2 * square + (1 - kBeta2) * gradient * gradient;
          weight *= 1 - lr * kWeightDecay;
          weight -= lr * (mean / correct1) / (std::sqrt(square / correct2) + kEps);
        },
        w, g, m, v);
  }
};

/// The factor of the rate at a step: up by a straight line, then down by half a cosine.
double factor(int step) {
  if (step < kWarmup) return static_cast<double>(step) / kWarmup;
  const double progress = static_cast<double>(step - kWarmup) / (kSteps - kWarmup);
  return (1 + std::cos(std::numbers::pi * progress)) / 2;
}

double norm_of(Weights g) {
  double squares = 0;
  for_each_number([&](double& x) { squares += x * x; }, g);
  return std::sqrt(squares);
}

/// Scales all gradients together to the norm `most`, if it is larger. Returns the norm before.
double clip(Weights& g, double most) {
  const double norm = norm_of(g);
  if (norm > most) {
    for_each_number([&](double& x) { x *= most / (norm + 1e-6); }, g);
  }
  return norm;
}

// ---- the library's network with the same weights ----

struct Network {
  nn::Linear linear1{{.in_features = 1, .out_features = kHidden}};
  nn::Linear linear2{{.in_features = kHidden, .out_features = 1}};

  explicit Network(const Weights& w) {
    linear1.weight = Tensor(w.w1);
    linear1.bias = Tensor(w.b1).flatten();
    linear2.weight = Tensor(w.w2);
    linear2.bias = Tensor(w.b2).flatten();
    nn::set_requires_grad(*this);
  }
  Tensor operator()(const Tensor& x) const { return linear2(tanh(linear1(x))); }

  static void visit(auto& self, auto&& visitor) {
    visitor("linear1", self.linear1);
    visitor("linear2", self.linear2);
  }
};

/// Losses of a run, before each step and after the last.
using Losses = std::vector<double>;

/// The loop. `step` changes the weights by their gradients; it gets its own number, 0, 1, ...
Losses train(Weights w, const Points& points,
             const std::function<void(Weights& w, Weights& g, int number)>& step) {
  Losses losses;
  Weights g;
  for (int number = 0; number < kSteps; ++number) {
    losses.push_back(loss_and_gradients(w, points, g));
    step(w, g, number);
  }
  losses.push_back(loss_and_gradients(w, points, g));
  return losses;
}

/// The same loop with the library's parts.
Losses library_train(const Network& network, const Points& points, nn::Optimizer& optimizer) {
  Losses losses;
  for (int number = 0; number <= kSteps; ++number) {
    Tape tape;
    const Tensor loss = nn::mse_loss(network(points.x), points.t);
    losses.push_back(loss.item());
    tape.backward(loss);
    if (number < kSteps) optimizer.step();
    optimizer.zero_grad();
  }
  return losses;
}

/// Prints some losses. **Errors**: those of the library differ.
void print_and_compare(const char* library, const Losses& hand, const Losses& theirs) {
  for (const int i : {0, 1, 10, 100, 200, kSteps}) {
    std::printf("after %3d steps: %.6f\n", i, hand[static_cast<std::size_t>(i)]);
  }
  const auto row = [](const Losses& l) { return Matrix(1, std::ssize(l), l); };
  check_close(library, row(hand), row(theirs), 1e-9);
}

// ---- the lesson ----

void one_gradient(const Points& points) {
  Weights g;
  const double loss = loss_and_gradients(start(), points, g);
  std::printf("Step 1: The loss before any step: %.6f, and its gradient\n", loss);
  show("dw2, one number per hidden unit", g.w2);
  const Network network(start());
  Tape tape;
  tape.backward(nn::mse_loss(network(points.x), points.t));
  check_close("dw1", g.w1, network.linear1.weight->grad());
  check_close("dw2", g.w2, network.linear2.weight->grad());
}

void both_optimisers(const Points& points) {
  std::printf("Step 2: SGD, w -= %g g\n", kSgdRate);
  const Losses by_sgd =
      train(start(), points, [](Weights& w, Weights& g, int) { sgd_step(w, g, kSgdRate); });
  const Network for_sgd(start());
  nn::SGD sgd(for_sgd, {.lr = kSgdRate});
  print_and_compare("the losses of nn::SGD", by_sgd, library_train(for_sgd, points, sgd));

  std::printf("Step 3: AdamW, lr = %g\n", kAdamRate);
  AdamWByHand adam;
  const Losses by_adam =
      train(start(), points, [&](Weights& w, Weights& g, int) { adam.step(w, g, kAdamRate); });
  const Network for_adam(start());
  nn::AdamW library_adam(for_adam, {.lr = kAdamRate, .weight_decay = kWeightDecay});
  print_and_compare("the losses of nn::AdamW", by_adam,
                    library_train(for_adam, points, library_adam));
}

void rates_and_clipping(const Points& points) {
  std::printf("Step 4: Warm-up over %d steps, then half a cosine: the rate's factor\n", kWarmup);
  const nn::Schedule schedule = nn::cosine_schedule(kWarmup, kSteps);
  for (const int step : {0, 1, 10, kWarmup, 100, 262, kSteps}) {
    std::printf("step %3d: %.4f\n", step, factor(step));
    require(std::abs(factor(step) - schedule(step)) < 1e-12, "nn::cosine_schedule",
            "factor must be the same by hand, got a different one at step ", step);
  }
  Weights g;
  loss_and_gradients(start(), points, g);
  const double norm = clip(g, kClip);
  std::printf("\nStep 5: Clipping: the first gradient's norm is %.4f, then %.4f\n", norm,
              norm_of(g));
  const Network network(start());
  Tape tape;
  tape.backward(nn::mse_loss(network(points.x), points.t));
  const double library = nn::clip_grad_norm(nn::parameters(network), kClip);
  check_close("the norm", Matrix{{norm}}, Matrix{{library}});
  check_close("the clipped dw2", g.w2, network.linear2.weight->grad());
}

void all_together(const Points& points) {
  std::printf("Step 6: All together: gradient, clip, rate, AdamW\n");
  AdamWByHand adam;
  const Losses hand = train(start(), points, [&](Weights& w, Weights& g, int number) {
    clip(g, kClip);
    adam.step(w, g, kAdamRate * factor(number));
  });
  Network network(start());
  nn::AdamW optimizer(network, {.lr = kAdamRate, .weight_decay = kWeightDecay});
  const auto examples = nn::examples_of(points.x, points.t, [&](const Tensor& x, const Tensor& t) {
    return nn::summed_squared_error(network(x), t);
  });
  nn::Trainer trainer(network, optimizer, examples,
                      {.epochs = kSteps,
                       .batch_size = kPoints,
                       .lr_decay = nn::LrDecay::kCosine,
                       .warmup_ratio = static_cast<double>(kWarmup) / kSteps,
                       .max_grad_norm = kClip});
  Losses theirs;
  trainer.train({.step = [&](const nn::StepReport& r) { theirs.push_back(r.totals.mean()); }});
  theirs.push_back(nn::evaluate(network, examples).mean());
  print_and_compare("the losses of nn::Trainer", hand, theirs);
}

void mistakes(const Points& points) {
  const auto print = [](const char* what, const Losses& losses) {
    std::printf("%-32s", what);
    for (const int i : {1, 10, kSteps}) {
      const double loss = losses[static_cast<std::size_t>(i)];
      if (std::isfinite(loss)) {
        std::printf(" %9.3g", loss);
      } else {
        std::printf(" not finite");  // inf, then inf - inf
      }
    }
    std::printf("\n");
  };
  std::printf("Step 7: What goes wrong: the loss after 1, 10 and %d steps\n", kSteps);
  print("SGD, as in step 2",
        train(start(), points, [](Weights& w, Weights& g, int) { sgd_step(w, g, kSgdRate); }));
  print("the rate ten times as large",
        train(start(), points, [](Weights& w, Weights& g, int) { sgd_step(w, g, 10 * kSgdRate); }));
  print("uphill: w += lr g",
        train(start(), points, [](Weights& w, Weights& g, int) { sgd_step(w, g, -kSgdRate); }));
  Weights sum;
  print("gradients never set back to zero",
        train(start(), points, [&](Weights& w, Weights& g, int) {
          for_each_number([](double& total, double& one) { total += one; }, sum, g);
          sgd_step(w, sum, kSgdRate);
        }));
  Weights equal;
  for_each_number([](double& x) { x = 0.5; }, equal);
  Weights learned;
  print("all weights start as 0.5", train(equal, points, [&](Weights& w, Weights& g, int) {
          sgd_step(w, g, kSgdRate);
          learned = w;
        }));
  const std::vector<double>& hidden = learned.w1.values();
  std::printf("With equal starts the %td hidden units have learned %zu different w1.\n",
              std::ssize(hidden), std::set(hidden.begin(), hidden.end()).size());
}

/// The losses of steps 2, 3 and 6.
void draw(const std::string& folder, const Points& points) {
  const auto series = [](const char* name, const Losses& losses) {
    pages::Series line = {.name = name};
    for (int i = 0; i <= kSteps; i += 10) {
      line.points.push_back({static_cast<double>(i), losses[static_cast<std::size_t>(i)]});
    }
    return line;
  };
  AdamWByHand plain, scheduled;
  const Losses by_sgd =
      train(start(), points, [](Weights& w, Weights& g, int) { sgd_step(w, g, kSgdRate); });
  const Losses by_adam =
      train(start(), points, [&](Weights& w, Weights& g, int) { plain.step(w, g, kAdamRate); });
  const Losses by_all = train(start(), points, [&](Weights& w, Weights& g, int number) {
    clip(g, kClip);
    scheduled.step(w, g, kAdamRate * factor(number));
  });
  write_picture(folder, "013_losses.svg",
                pages::chart_svg({.title = "Three ways to train the same network",
                                  .x = {.label = "step"},
                                  .y = {.label = "loss", .scale = pages::Scale::kLog10},
                                  .series = {series("SGD", by_sgd), series("AdamW", by_adam),
                                             series("AdamW, warm-up, clipping", by_all)},
                                  .width = 720,
                                  .legend = 200}));
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("013_a_training_loop_by_hand", argc, argv, "[FOLDER]", [&] {
    const Points points;
    one_gradient(points);
    both_optimisers(points);
    rates_and_clipping(points);
    all_together(points);
    mistakes(points);
    if (argc > 1) draw(argv[1], points);
  });
}
