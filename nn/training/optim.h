// Optimisers: SGD, Adam, AdamW.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-4});
//   for (...) {
//     Tape tape;
//     Tensor loss = nn::cross_entropy(model(ids), labels);
//     tape.backward(loss);
//     nn::clip_grad_norm(optimizer.parameters(), 1);
//     optimizer.step();
//     optimizer.zero_grad();
//   }
//
// Each constructor takes a module, parameters or groups of parameters, and options. An optimiser
// holds the variables that the module has when the optimiser is made: make the optimiser after
// set_requires_grad, convert and the tying of weights.
//
// **Errors**: as Optimizer. Options out of range are: an lr, weight_decay, momentum or eps that is
// negative or not finite; a beta outside [0, 1); a dampening that is not finite; nesterov with a
// momentum of 0 or a dampening other than 0.
#pragma once

#include <utility>
#include <vector>

#include "tessera/nn/training/optimizer.h"

namespace tessera::nn {

/// w -= lr b, where b = momentum b + (1 - dampening) g. Here g is the gradient plus weight_decay w.
/// In the first step, and if momentum is 0, b = g. With `nesterov`: w -= lr (g + momentum b).
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;  // requires momentum above 0 and dampening 0
};

/// Stochastic gradient descent.
/// **Source**: torch.optim.SGD; Sutskever et al., "On the importance of initialization and momentum
/// in deep learning", 2013.
class SGD final : public Optimizer {
 public:
  explicit SGD(std::vector<ParameterGroup> groups, const SGDOptions& options = {});
  template <class P>
  explicit SGD(const P& parameters, const SGDOptions& options = {})
      : SGD(detail::groups_of(parameters), options) {}

 private:
  void update(const ParameterSlice& slice) const override;

  SGDOptions options_;
};

/// w -= lr m' / (sqrt(v') + eps), where m and v follow the gradient g and its square,
///
///     m = beta1 m + (1 - beta1) g,    m' = m / (1 - beta1^t)
///     v = beta2 v + (1 - beta2) g^2,  v' = v / (1 - beta2^t)
///
/// and g is the gradient plus weight_decay w. t is the number of the parameter's step, from 1 on; m
/// and v begin as 0.
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

/// Adam with decoupled weight decay: w *= 1 - lr weight_decay before each step, and g is only the
/// gradient.
struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// **Source**: torch.optim.Adam; Kingma and Ba, "Adam", 2015, algorithm 1.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<ParameterGroup> groups, const AdamOptions& options = {})
      : Adam("Adam", false, std::move(groups), options) {}
  template <class P>
  explicit Adam(const P& parameters, const AdamOptions& options = {})
      : Adam(detail::groups_of(parameters), options) {}

 protected:
  /// With `is_decoupled`, weights decay as in AdamW.
  Adam(const char* name, bool is_decoupled, std::vector<ParameterGroup> groups,
       const AdamOptions& options);

 private:
  void update(const ParameterSlice& slice) const final;

  bool is_decoupled_;
  AdamOptions options_;
};

/// **Source**: torch.optim.AdamW; Loshchilov and Hutter, "Decoupled weight decay regularization",
/// 2019, algorithm 2.
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& o = {})
      : Adam("AdamW", true, std::move(groups), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay}) {}
  template <class P>
  explicit AdamW(const P& parameters, const AdamWOptions& options = {})
      : AdamW(detail::groups_of(parameters), options) {}
};

}  // namespace tessera::nn
