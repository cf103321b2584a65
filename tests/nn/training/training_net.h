// A small model with dropout, examples for it, and runs of the trainer: for the trainer's tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/nn/nn.h"
#include "tests/support/checkpoints.h"

namespace tessera::test {

struct Net {
  nn::Linear first;
  nn::Dropout dropout{0.3};
  nn::Linear second;

  explicit Net(std::uint64_t seed = 1) : Net(Rng(seed)) {}
  explicit Net(Rng rng) : first(4, 8, rng), second(8, 3, rng) { nn::set_requires_grad(*this); }

  Tensor operator()(const Tensor& x) const { return second(dropout(first(x, Activation::kGelu))); }

  static void visit(auto& self, auto&& visitor) {
    visitor("first", self.first);
    visitor("dropout", self.dropout);
    visitor("second", self.second);
  }
};

/// Points (N, 4) with classes that follow from them; some are ignored.
struct Points {
  Tensor x, y;

  Points(index_t count, std::uint64_t seed) : x(random_tensor({count, 4}, kFloat32, seed)) {
    y = argmax(x.slice(1, 0, 3), {-1}).clone();
    for (index_t i = 0; i < count; i += 5) y.slice(0, i, i + 1).fill(-100);
  }

  nn::LossSum loss(const Net& net, std::span<const index_t> chosen) const {
    const Tensor rows = from_vector(std::vector<index_t>(chosen.begin(), chosen.end()));
    return nn::summed_cross_entropy(net(index_select(x, 0, rows)), index_select(y, 0, rows));
  }
  nn::Examples examples(const Net& net) const {
    std::vector<index_t> lengths;
    for (index_t i = 0; i < x.size(0); ++i) lengths.push_back(1 + i % 3);
    return {lengths, [&net, this](std::span<const index_t> chosen) { return loss(net, chosen); }};
  }
};

/// A net in training mode, with all objects that its trainer refers to. 50 examples: 7 steps per
/// epoch, the shortest with 2 examples.
struct Trial {
  Points train{50, 3};
  Points held_out{20, 4};
  Net net;
  nn::AdamW optimizer{nn::split_weight_decay(net), {.lr = 0.02}};
  nn::Trainer trainer;

  static nn::TrainerOptions options() {
    return {.epochs = 3,
            .batch_size = 8,
            .seed = 5,
            .lr_decay = nn::LrDecay::kLinear,
            .warmup_ratio = 0.2,
            .max_grad_norm = 0.5};
  }
  explicit Trial(const nn::TrainerOptions& options = Trial::options(), bool evaluates = false)
      : trainer(net, optimizer, train.examples(net), options,
                evaluates ? held_out.examples(net) : nn::Examples()) {}
};

}  // namespace tessera::test
