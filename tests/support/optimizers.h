// Shared by the tests of optimisers: each algorithm by name, and a small model to train.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/nn/linear.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"

namespace tessera::test {

inline Tensor variable(const Tensor& x) {
  return x.clone().set_requires_grad();
}

/// Sets the gradient of `x` to `gradient`, through a tape.
inline void give_gradient(const Tensor& x, const Tensor& gradient) {
  Tape tape;
  tape.backward(sum(x * gradient));
}

using Make = std::function<std::shared_ptr<nn::Optimizer>(std::vector<nn::ParameterGroup>)>;

template <class Kind, class Options>
Make maker(const Options& options) {
  return [=](std::vector<nn::ParameterGroup> groups) {
    return std::make_shared<Kind>(std::move(groups), options);
  };
}

/// The cases of golden/optim.npz.
inline std::map<std::string, Make> algorithms() {
  using nn::Adam;
  using nn::AdamOptions;
  using nn::AdamW;
  using nn::AdamWOptions;
  using nn::SGD;
  using nn::SGDOptions;
  return {
      {"sgd", maker<SGD>(SGDOptions{.lr = 0.05})},
      {"sgd_decay", maker<SGD>(SGDOptions{.lr = 0.05, .weight_decay = 0.1})},
      {"sgd_momentum", maker<SGD>(SGDOptions{.lr = 0.05, .momentum = 0.9})},
      {"sgd_dampening",
       maker<SGD>(SGDOptions{.lr = 0.05, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01})},
      {"sgd_nesterov",
       maker<SGD>(SGDOptions{.lr = 0.05, .momentum = 0.8, .weight_decay = 0.02, .nesterov = true})},
      {"adam", maker<Adam>(AdamOptions{.lr = 2e-3})},
      {"adam_decay",
       maker<Adam>(
           AdamOptions{.lr = 2e-3, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1})},
      {"adamw", maker<AdamW>(AdamWOptions{.lr = 2e-3})},
      {"adamw_decay",
       maker<AdamW>(
           AdamWOptions{.lr = 3e-3, .beta1 = 0.7, .beta2 = 0.9, .eps = 1e-5, .weight_decay = 0.2})},
  };
}

inline std::vector<nn::ParameterGroup> one_group(const Tensor& w) {
  return {{.parameters = {{"w", w}}}};
}

struct Pair {
  nn::Linear first{4, 4};
  nn::Linear second{4, 4};

  static void visit(auto& self, auto&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
  }
};

}  // namespace tessera::test
