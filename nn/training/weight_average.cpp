#include "tessera/nn/training/weight_average.h"

#include <algorithm>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/arithmetic.h"

namespace tessera::nn {

WeightAverage::WeightAverage(Parameters parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  detail::require_decay("WeightAverage", "decay", decay);
  for (const auto& [name, tensor] : parameters_) {
    const bool is_new = averages_.emplace(name, tensor.detach().clone()).second;
    require(is_new, "WeightAverage", "names of parameters must differ, got ", printable(name),
            " twice");
  }
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

WeightAverage::Scope::Scope(const WeightAverage& average) : average_(average) {
  require(!average.has_scope_, "WeightAverage",
          "an average must have at most one Scope at a time, got a second one");
  for (const auto& [name, tensor] : average.parameters_) {
    before_.push_back(tensor.detach().clone());
  }
  for (auto [name, tensor] : average.parameters_) tensor.copy_from(average.averages_.at(name));
  average.has_scope_ = true;
}

WeightAverage::Scope::~Scope() {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    Tensor(average_.parameters_[i].tensor).copy_from(before_[i]);
  }
  average_.has_scope_ = false;
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
