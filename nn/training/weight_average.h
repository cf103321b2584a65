// A moving average of a model's weights, which often predicts better than the last weights.
#pragma once

#include <vector>

#include "tessera/nn/training/checkpoint.h"
#include "tessera/nn/training/parameters.h"

namespace tessera::nn {

/// The exponential moving average of parameters w. Update number t = 0, 1, ... is
///
///     average = d average + (1 - d) w,    d = min(decay, (1 + t) / (10 + t))
///
/// The average starts as a copy of the weights. The second bound of d makes the average forget
/// these untrained weights soon.
/// **Errors**: a decay outside [0, 1); two parameters of the same name.
/// **Source**: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992;
/// tf.train.ExponentialMovingAverage for d.
class WeightAverage {
 public:
  WeightAverage(Parameters parameters, double decay);
  WeightAverage(const WeightAverage&) = delete;
  WeightAverage& operator=(const WeightAverage&) = delete;

  /// Adds the current weights to the averages; call it after each step.
  void update();
  /// The averages by the names of the parameters.
  const StateDict& averages() const { return averages_; }

  /// While in scope, the parameters have the averages as values; afterwards they have their own
  /// values again. The average must outlive the Scope.
  /// **Errors**: a second Scope of the same average at the same time; the active tape holds
  /// recorded ops. A tape that records an op while a Scope exists must run backward or end before
  /// the Scope ends: otherwise the destructor calls std::terminate.
  class Scope {
   public:
    explicit Scope(const WeightAverage& average);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const WeightAverage& average_;
    std::vector<Tensor> before_;
  };

  /// The averages by the parameters' names, and the value `updates`.
  Checkpoint state() const;
  /// **Errors**: a state of different parameters; `updates` that is not an integer
  /// of at least 0.
  void load_state(const Checkpoint& state);

 private:
  Parameters parameters_;
  double decay_;
  index_t updates_ = 0;
  StateDict averages_;
  mutable bool has_scope_ = false;
};

}  // namespace tessera::nn
