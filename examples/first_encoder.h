// What the first encoder learns, its model and its training; first_encoder.cpp begins here, and so
// does the first lesson of the course.
#pragma once

#include <cstdint>
#include <cstdio>

#include <tessera/models/models.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/ops.h>

namespace tessera::examples {

inline constexpr index_t kLetters = 26;
inline constexpr index_t kLength = 12;
inline constexpr index_t kWords = 4000;

/// Random words, (count, 12), each letter a number from 0 to 25; each stream has its own words.
inline Tensor random_words(index_t count, std::uint64_t stream) {
  Rng rng(0, stream);
  return randint(0, kLetters, {count, kLength}, rng);
}

/// The targets: each word backwards.
inline Tensor reversed(const Tensor& words) {
  return words.slice(1, {}, {}, -1);  // step -1 along axis 1
}

/// One layer with one head: 36,954 parameters, random at first.
inline models::TokenClassifier make_model() {
  manual_seed(0);
  const models::EncoderLayerOptions layer = {.d_model = 64,
                                             .nhead = 1,
                                             .dim_feedforward = 128,
                                             .dropout = 0,
                                             .activation = nn::Activation::kGelu,
                                             .norm_first = true};
  const models::TokenEncoderOptions tokens = {.vocab_size = kLetters,
                                              .encoder = {.layers = {layer}, .final_norm = true},
                                              .max_positions = kLength,
                                              .dropout = 0};
  return models::TokenClassifier({.token_encoder = tokens, .num_labels = kLetters, .dropout = 0});
}

/// Five epochs of AdamW; the learning rate rises for a tenth of the steps, then falls to 0.
inline void train(models::TokenClassifier& model) {
  const Tensor words = random_words(kWords, 1);
  // The sum over all letters of a batch; the trainer divides it by their number.
  const auto loss = [&](const Tensor& inputs, const Tensor& targets) {
    return nn::summed_cross_entropy(model(inputs), targets);
  };
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});
  nn::Trainer trainer(
      model, optimizer, nn::examples_of(words, reversed(words), loss),
      {.epochs = 5, .lr_decay = nn::LrDecay::kLinear, .warmup_ratio = 0.1, .max_grad_norm = 1});
  trainer.train({.epoch = [](const nn::EpochReport& report) {
    std::printf("epoch %d, loss %.2f\n", static_cast<int>(report.epoch) + 1, report.totals.mean());
  }});
  nn::eval(model);
}

}  // namespace tessera::examples
