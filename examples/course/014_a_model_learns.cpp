// A model learns: from random weights to correct answers.
//
// In most lessons the weights were given. Here the library finds them, as 013 does by loops. Does
// the first of six digits occur again? A model of one encoder layer is trained on 6000 rows of
// digits, 50 at a time. For each batch
//
//     loss      L = sum_i -log p_i / n          p_i: the model's probability of the correct answer
//     gradient  g = dL / dw                     of every weight, by the tape, backwards
//     step      m = 0.9 m + 0.1 g               AdamW: a moving average of gradients
//               v = 0.999 v + 0.001 g^2         and of their squares
//               w = 0.99995 w - lr m' / (sqrt(v') + 1e-8)
//
// with m' = m / (1 - 0.9^t) and v' = v / (1 - 0.999^t) at step t, and lr = 0.005.
//
//   014_a_model_learns [FOLDER]     prints; draws FOLDER/014_learning.svg
//
// Source: Kingma and Ba, "Adam", 2015; Loshchilov and Hutter, "Decoupled weight decay
// regularization", 2019; Vaswani et al., "Attention Is All You Need", 2017, section 5.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <tessera/models/models.h>
#include <tessera/models/pages/chart.h>
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;

namespace {

constexpr index_t kRows = 6000;
constexpr index_t kBatch = 50;
constexpr index_t kEpochs = 8;
constexpr double kRate = 0.005;

/// The same model at each call: one layer, no dropout, float64.
models::SequenceClassifier make_model() {
  Rng rng(2);
  models::TokenEncoderOptions tokens;
  tokens.vocab_size = 10;
  tokens.dropout = 0;
  tokens.encoder.layers = {{.d_model = 16, .nhead = 2, .dim_feedforward = 32, .dropout = 0}};
  models::SequenceClassifier model({.token_encoder = tokens, .num_labels = 2, .dropout = 0}, rng);
  nn::convert(model, kFloat64);
  nn::set_requires_grad(model);
  return model;
}

/// Rows of six digits, with label 1 if the first digit occurs again.
struct Rows {
  Tensor digits;
  Tensor answers;

  Rows(index_t count, std::uint64_t seed) {
    Rng rng(seed);
    digits = randint(0, 10, {count, 6}, rng);
    answers = any(eq(digits.slice(1, 1), digits.slice(1, 0, 1)), {1}).to(kInt64);
  }

  /// The sum of the chosen rows' losses, their number, and the number of correct answers.
  nn::LossSum loss(const models::SequenceClassifier& model, std::span<const index_t> chosen) const {
    const Tensor rows = from_vector(std::vector(chosen.begin(), chosen.end()));
    return nn::summed_cross_entropy(model(index_select(digits, 0, rows)),
                                    index_select(answers, 0, rows));
  }
};

/// The mean loss of a model that only uses the fraction of answers that are 1: the entropy of that
/// fraction.
double baseline_loss(const Rows& rows) {
  const double p = mean(rows.answers.to(kFloat64)).item();
  return -p * std::log(p) - (1 - p) * std::log(1 - p);
}

/// The attention from a position to position 0, averaged over both heads: for positions with the
/// first digit again, and for positions with a different digit.
struct ToFirst {
  double twin;
  double other;
};

ToFirst attention_to_first(const models::SequenceClassifier& model, const Rows& rows) {
  Tensor weights;  // (rows, heads, 6, 6)
  const nn::Hook reader("**.weights", [&](const nn::HookPoint& point) { weights = point.value; });
  model(rows.digits);
  const Tensor to_first = mean(weights, {1}).select(2, 0).slice(1, 1);  // (rows, 5)
  const Tensor twin = eq(rows.digits.slice(1, 1), rows.digits.slice(1, 0, 1)).to(kFloat64);
  const auto mean_over = [&](const Tensor& places) {
    return (sum(to_first * places) / sum(places)).item();
  };
  return {mean_over(twin), mean_over(1.0 - twin)};
}

double accuracy(const models::SequenceClassifier& model, const Rows& rows) {
  return mean(eq(argmax(model(rows.digits), {-1}), rows.answers).to(kFloat64)).item();
}

/// AdamW on one weight, as above, compared with the library's first step on all of them.
void one_step(const Rows& rows) {
  const models::SequenceClassifier model = make_model();
  nn::AdamW optimizer(model, {.lr = kRate});
  const std::vector<index_t> batch = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor bias = model.classifier.bias;

  std::cout << "Step 1: Eight rows and whether the first digit comes again\n";
  std::cout << rows.digits.slice(0, 0, 8) << '\n' << rows.answers.slice(0, 0, 8) << "\n\n";

  Tape tape;
  const Tensor loss = rows.loss(model, batch).loss / 8;
  std::cout << "Step 2: The loss of a random model: log 2 = 0.6931, and a little\n"
            << loss << "\n\n";

  tape.backward(loss);
  const Tensor gradient = bias.grad().clone();
  std::cout << "Step 3: Its gradient by the two biases of the answers: they add up to 0\n"
            << gradient << "\n\n";

  const Tensor before = bias.detach().clone();
  const Tensor m = gradient * 0.1 / (1 - 0.9);
  const Tensor v = square(gradient) * 0.001 / (1 - 0.999);
  const Tensor by_hand = before * (1 - kRate * 0.01) - m / (sqrt(v) + 1e-8) * kRate;
  optimizer.step();
  std::cout << "Step 4: The biases before, after a step by hand, and after optimizer.step()\n"
            << before << '\n'
            << by_hand << '\n'
            << bias.detach() << "\n\n";
}

/// The curves of the picture, one value per epoch.
struct Curves {
  std::vector<double> losses;
  std::vector<ToFirst> attention;  // beginning before the first epoch
};

/// The loop by hand.
Curves loop(const Rows& rows, const Rows& unseen) {
  const models::SequenceClassifier model = make_model();
  nn::AdamW optimizer(model, {.lr = kRate});
  nn::BatchSampler sampler(std::vector<index_t>(kRows, 6), {.batch_size = kBatch});
  Curves curves = {.losses = {}, .attention = {attention_to_first(model, unseen)}};
  std::cout << "Step 5: The loop, epoch by epoch: the mean loss\n";
  double total = 0;
  while (sampler.epoch() < kEpochs) {
    const std::span<const index_t> batch = sampler.next();
    Tape tape;
    const nn::LossSum sum = rows.loss(model, batch);
    tape.backward(sum.loss);
    nn::clip_grad_norm(optimizer.parameters(), 1,
                       {.scale = 1 / sum.count});  // the mean, with a norm of at most 1
    optimizer.step();
    optimizer.zero_grad();
    total += sum.loss.item();
    if (sampler.position() > 0) continue;
    std::printf("epoch %td, loss %.4f\n", sampler.epoch(), total / kRows);
    curves.losses.push_back(total / kRows);
    curves.attention.push_back(attention_to_first(model, unseen));
    total = 0;
  }
  std::printf("accuracy on 1000 unseen rows: %.3f\n\n", accuracy(model, unseen));
  return curves;
}

/// The single call.
void trainer(const Rows& rows, const Rows& unseen) {
  models::SequenceClassifier model = make_model();
  nn::AdamW optimizer(model, {.lr = kRate});
  const auto loss = [&](std::span<const index_t> chosen) { return rows.loss(model, chosen); };
  nn::Trainer trainer(model, optimizer, {std::vector<index_t>(kRows, 6), loss},
                      {.epochs = kEpochs, .batch_size = kBatch, .max_grad_norm = 1});
  std::cout << "The same by nn::Trainer(model, optimizer, {lengths, loss}, options).train()\n";
  trainer.train({.epoch = [](const nn::EpochReport& report) {
    std::printf("epoch %td, loss %.4f\n", report.epoch + 1, report.totals.mean());
  }});
  std::printf("accuracy on 1000 unseen rows: %.3f\n\n", accuracy(model, unseen));
}

void show_attention(const Curves& curves) {
  std::cout << "Step 6: How much a position attends to position 0\n";
  for (std::size_t epoch = 0; epoch < curves.attention.size(); ++epoch) {
    const ToFirst& share = curves.attention[epoch];
    std::printf("after %zu epochs, with the first digit again %.2f, with a different one %.2f\n",
                epoch, share.twin, share.other);
  }
}

/// With this rounding and six epochs, all instruction sets draw the same picture: those without
/// fused multiply-adds round differently, and the runs diverge.
double hundredths(double value) {
  return std::round(100 * value) / 100;
}

void draw(const std::string& folder, const Curves& curves, double base) {
  pages::Series loss = {.name = "loss"}, twin = {.name = "same digit"},
                other = {.name = "different digit"};
  for (std::size_t epoch = 0; epoch <= 6; ++epoch) {
    const auto x = static_cast<double>(epoch);
    if (epoch > 0)
      loss.points.push_back({x, hundredths(curves.losses[epoch - 1]), epoch == 2 ? "loss" : ""});
    twin.points.push_back(
        {x, hundredths(curves.attention[epoch].twin), epoch == 5 ? twin.name : ""});
    other.points.push_back(
        {x, hundredths(curves.attention[epoch].other), epoch == 4 ? other.name : ""});
  }
  const pages::Series guide = {.name = "baseline loss",
                               .points = {{0, base, ""}, {5, base, "baseline loss"}, {6, base, ""}},
                               .mark = pages::Mark::kGuide};
  examples::write_picture(
      folder, "014_learning.svg",
      pages::chart_svg({.title = "Loss and attention while a model learns",
                        .x = {.label = "epoch"},
                        .y = {.label = "loss, and weight on position 0", .low = 0, .high = 0.8},
                        .series = {loss, twin, other, guide}}));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_example("014_a_model_learns", argc, argv, "[FOLDER]", [&] {
    const Rows rows(kRows, 1);
    const Rows unseen(1000, 7);
    one_step(rows);
    std::printf("The baseline loss: %.3f, if only the fraction of yes is known\n\n",
                baseline_loss(rows));
    const Curves curves = loop(rows, unseen);
    trainer(rows, unseen);
    show_attention(curves);
    if (argc > 1) draw(argv[1], curves, baseline_loss(rows));
  });
}
