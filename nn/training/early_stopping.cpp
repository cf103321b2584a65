#include "tessera/nn/training/early_stopping.h"

#include <utility>

#include "tessera/nn/detail/check.h"

namespace tessera::nn {

EarlyStopping::EarlyStopping(Parameters parameters, const EarlyStoppingOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  detail::require_count("EarlyStopping", "patience", options.patience);
}

bool EarlyStopping::add(double score, index_t step) {
  if (!(score > best_score_)) {
    ++in_vain_;
    return false;
  }
  best_score_ = score;
  best_step_ = step;
  in_vain_ = 0;
  if (!options_.keep_weights) return true;
  for (const auto& [name, tensor] : parameters_) weights_[name] = tensor.detach().clone();
  return true;
}

Checkpoint EarlyStopping::state() const {
  Checkpoint state{.tensors = weights_};
  if (in_vain_ > 0) state.set("in_vain", in_vain_);
  if (!best_step_) return state;
  state.set("step", *best_step_);
  state.set("score", best_score_);
  return state;
}

void EarlyStopping::load_state(const Checkpoint& state) {
  constexpr const char* kOp = "load_state";
  Checkpoint wanted{.tensors = {}, .values = state.values};
  if (!state.tensors.empty()) {
    for (const auto& [name, tensor] : parameters_) wanted.tensors[name] = tensor.detach();
  }
  state.check_names(kOp, wanted);
  const index_t in_vain = state.has("in_vain") ? state.count(kOp, "in_vain") : 0;
  std::optional<index_t> step;
  double score = -std::numeric_limits<double>::infinity();
  if (state.has("step")) {
    step = state.count(kOp, "step");
    score = state.number("score");
  }
  best_step_ = step;
  best_score_ = score;
  in_vain_ = in_vain;
  weights_.clear();
  for (const auto& [name, tensor] : state.tensors) weights_[name] = tensor.clone();
}

}  // namespace tessera::nn
