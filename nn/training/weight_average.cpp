#include "nn/training/weight_average.h"

#include <algorithm>
#include <utility>

#include "nn/detail/check.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::nn {

WeightAverage::WeightAverage(Parameters parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  detail::require_decay("WeightAverage", "decay", decay);
  for (const auto& [name, tensor] : parameters_) averages_[name] = tensor.detach().clone();
}

void WeightAverage::update() {
  const NoGrad plain;
  const auto t = static_cast<double>(updates_++);
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  for (const auto& [name, tensor] : parameters_) {
    Tensor& average = averages_.at(name);
    average.copy_from(average * decay + tensor.detach() * (1 - decay));
  }
}

WeightAverage::Scope::Scope(const WeightAverage& average) : parameters_(average.parameters_) {
  for (const auto& [name, tensor] : parameters_) before_.push_back(tensor.detach().clone());
  for (auto& [name, tensor] : parameters_) tensor.copy_from(average.averages_.at(name));
}

WeightAverage::Scope::~Scope() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.copy_from(before_[i]);
}

Checkpoint WeightAverage::state() const {
  Checkpoint state{.tensors = averages_};
  state.set("updates", updates_);
  return state;
}

void WeightAverage::load_state(const Checkpoint& state) {
  constexpr const char* kOp = "load_state";
  state.check_names(kOp, this->state());
  updates_ = state.count(kOp, "updates");
  for (auto& [name, average] : averages_) average.copy_from(state.tensors.at(name));
}

}  // namespace tessera::nn
