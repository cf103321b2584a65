// The best evaluation of a run, its weights, and the decision to stop.
#pragma once

#include <limits>
#include <optional>

#include "tessera/nn/training/checkpoint.h"
#include "tessera/nn/training/parameters.h"

namespace tessera::nn {

/// The options of EarlyStopping.
struct EarlyStoppingOptions {
  index_t patience = 0;      // evaluations without improvement until is_over(); 0: no limit
  bool keep_weights = true;  // whether to copy the weights of the best evaluation
};

/// Stores the evaluation with the greatest score and a copy of its weights; of equal scores the
/// first is the best, and NaN is never the best.
/// **Errors**: a negative patience.
/// **Source**: Prechelt, "Early stopping, but when?", 1998.
class EarlyStopping {
 public:
  EarlyStopping(Parameters parameters, const EarlyStoppingOptions& options = {});

  /// Adds the score of an evaluation of the current parameters; returns whether this score is the
  /// best so far.
  bool add(double score, index_t step);

  /// Whether the last `patience` evaluations were all no better than the best; false if `patience`
  /// is 0.
  bool is_over() const { return options_.patience > 0 && in_vain_ >= options_.patience; }
  /// The step of the best evaluation, if there was one.
  std::optional<index_t> best_step() const { return best_step_; }
  /// The score of the best evaluation; -inf if there was none.
  double best_score() const { return best_score_; }

  /// The best weights by the parameters' names, their score and step, and the number of evaluations
  /// since then; empty at first.
  Checkpoint state() const;
  /// **Errors**: a state of different parameters; a value of a different type; a step without a
  /// score. After an error nothing is changed.
  void load_state(const Checkpoint& state);

 private:
  Parameters parameters_;
  EarlyStoppingOptions options_;
  StateDict weights_;
  double best_score_ = -std::numeric_limits<double>::infinity();
  std::optional<index_t> best_step_;
  index_t in_vain_ = 0;
};

}  // namespace tessera::nn
