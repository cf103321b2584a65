// An encoder of a series: 32 values of a noisy sine, each a token, and the next value.
//
// Frequency, phase and height are different in each series. The model is models::Encoder between
// two affine layers: a value becomes a vector, and the last vector becomes the next value.
#include <cmath>

#include <tessera/models/models.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

constexpr index_t kValues = 32, kWidth = 32, kTrain = 4000, kTest = 1000;
constexpr double kNoise = 0.1;  // the smallest possible error, on average

/// Series (N, 32), and the value (N) after each.
struct Series {
  Tensor values, next;

  Series(index_t count, std::uint64_t seed) {
    Rng rng(seed);
    const auto drawn = [&](double low, double high) {
      return uniform(low, high, {count, 1}, kFloat32, rng);
    };
    const Tensor step = drawn(0.1, 0.6), phase = drawn(0, 6.2832), height = drawn(0.5, 1.5);
    const Tensor time = arange(kValues + 1).to(kFloat32);
    const Tensor noise = randn({count, kValues + 1}, kFloat32, rng) * kNoise;
    const Tensor all = height * sin(step * time + phase) + noise;
    values = all.slice(1, 0, kValues).clone();
    next = all.select(1, kValues).clone();
  }
};

struct Forecaster {
  nn::Linear input{1, kWidth};
  nn::PositionalEncoding positions{{.d_model = kWidth}};
  models::Encoder encoder{
      {.layers = models::repeat_layer(
           {.d_model = kWidth, .nhead = 4, .dim_feedforward = 64, .dropout = 0}, 2)}};
  nn::Linear output{kWidth, 1};

  /// **Shapes**: (B, 32) -> (B).
  Tensor operator()(const Tensor& values) const {
    const Tensor encoded = encoder(positions(input(values.unsqueeze(-1))));
    return output(encoded.select(1, kValues - 1)).select(1, 0);
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("input", self.input);
    visitor("positions", self.positions);
    visitor("encoder", self.encoder);
    visitor("output", self.output);
  }
};

void run() {
  manual_seed(0);
  Forecaster model;
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 2e-3});
  const Series train(kTrain, 1), test(kTest, 2);
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    return nn::summed_squared_error(model(x), y);
  };
  const auto held_out = nn::examples_of(test.values, test.next, loss);
  nn::Trainer(model, optimizer, nn::examples_of(train.values, train.next, loss),
              {.epochs = 10, .lr_decay = nn::LrDecay::kLinear, .warmup_ratio = 0.1})
      .train();
  const Tensor last = test.values.select(1, kValues - 1);
  std::cout << "error: " << std::sqrt(nn::evaluate(model, held_out).mean())
            << ", of the last value: " << std::sqrt(mean(square(test.next - last)).item())
            << ", of the mean: " << std::sqrt(mean(square(test.next)).item())
            << ", noise: " << kNoise << std::endl;
}

}  // namespace

int main() {
  return examples::run_example("series_of_numbers", run);
}
