#include "nn/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nn/training/multi_tensor.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/io/file.h"

namespace tessera::nn {

namespace {

/// What an element costs, in elementary operations; memory sets the pace.
constexpr index_t kUpdateCost = 8;

constexpr const char* kLoad = "load_state";

bool overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() < b.offset() + b.count() &&
         b.offset() < a.offset() + a.count();
}

/// What is wrong with `value` as the option called `what`; empty: nothing.
std::string wrong_number(const std::string& what, double value, Rule::Range range) {
  const bool is_free = range == Rule::Range::kFinite;
  const bool is_small = range == Rule::Range::kBelow1;
  const bool fits = is_free || (value >= 0 && (!is_small || value < 1));
  if (fits && std::isfinite(value)) return {};
  const char* const rule = is_free ? "finite" : is_small ? "in [0, 1)" : "finite and at least 0";
  return str_cat(what, " must be ", rule, ", got ", value);
}

void check_number(const char* op, const char* what, double value) {
  const std::string wrong = wrong_number(what, value, Rule::Range::kAtLeast0);
  require(wrong.empty(), op, wrong);
}

/// As pointers to elements that begin `begin` elements later.
Stretch part_of(const Stretch& whole, index_t begin, index_t end) {
  Stretch part = whole;
  const index_t bytes = begin * item_size(whole.dtype);
  part.count = end - begin;
  part.weights = static_cast<char*>(whole.weights) + bytes;
  part.gradient = static_cast<const char*>(whole.gradient) + bytes;
  for (void*& kept : part.kept) {
    if (kept != nullptr) kept = static_cast<char*>(kept) + bytes;
  }
  return part;
}

}  // namespace

std::vector<ParameterGroup> split_weight_decay(const Parameters& parameters) {
  ParameterGroup matrices;
  ParameterGroup others{.parameters = {}, .weight_decay = 0};
  for (const Parameter& parameter : parameters) {
    (parameter.tensor.rank() >= 2 ? matrices : others).parameters.push_back(parameter);
  }
  return {matrices, others};
}

// ---- groups ----

Optimizer::Optimizer(std::vector<ParameterGroup> groups, std::unique_ptr<Rule> rule, double lr,
                     double weight_decay)
    : rule_(std::move(rule)), name_(rule_->name()), kept_(rule_->kept()) {
  require(rule_->kept().size() <= std::tuple_size_v<decltype(Stretch::kept)>, name_,
          "a rule must keep at most ", std::tuple_size_v<decltype(Stretch::kept)>,
          " tensors for each parameter, got ", rule_->kept().size());
  rule_->for_each_option([&](const char* option, double& value, Rule::Range range) {
    const std::string wrong = wrong_number(option, value, range);
    require(wrong.empty(), name_, wrong);
  });
  const std::string conflict = rule_->conflict();
  require(conflict.empty(), name_, conflict);
  for (ParameterGroup& group : groups) add_group(std::move(group), lr, weight_decay);
  require(!steps_.empty(), name_,
          "at least 1 parameter must require a gradient, got none; call "
          "nn::set_requires_grad(model) first");
}

void Optimizer::check_parameter(const Parameter& parameter) const {
  const auto& [name, tensor] = parameter;
  require(tensor.defined() && tensor.requires_grad(), name_, name,
          " must require a gradient; call nn::set_requires_grad(model) first");
  require(tensor.is_contiguous(), name_, name, " must be contiguous, got shape ", tensor.shape(),
          " and strides ", tensor.strides());
  for (const Group& group : groups_) {
    for (const Parameter& other : group.parameters) {
      require(other.tensor.grad_slot() != tensor.grad_slot() && other.name != name, name_, name,
              " must appear once, got it first as ", other.name);
      require(!overlap(other.tensor, tensor), name_, name, " and ", other.name,
              " must not share memory as two variables; tie weights after set_requires_grad");
    }
  }
}

void Optimizer::add_group(ParameterGroup group, double lr, double weight_decay) {
  const double rate = group.lr.value_or(lr);
  const double decay = group.weight_decay.value_or(weight_decay);
  check_number(name_, "lr", rate);
  check_number(name_, "weight_decay", decay);
  groups_.push_back({.parameters = {}, .lr = rate, .initial_lr = rate, .weight_decay = decay});
  for (Parameter& parameter : group.parameters) {
    check_parameter(parameter);
    kept_.add(parameter);
    steps_.push_back(0);
    groups_.back().parameters.push_back(std::move(parameter));
  }
}

void Optimizer::zero_grad() {
  for (Group& group : groups_) {
    for (Parameter& parameter : group.parameters) parameter.tensor.zero_grad();
  }
}

void Optimizer::set_lr(double lr) {
  for (std::size_t i = 0; i < groups_.size(); ++i) set_lr(i, lr);
}

void Optimizer::set_lr(std::size_t group, double lr) {
  require(group < groups_.size(), "set_lr", "group must be below ", groups_.size(), ", got ",
          group);
  check_number("set_lr", "lr", lr);
  groups_[group].lr = lr;
}

// ---- the step ----

void Optimizer::collect() {
  kept_.allocate();
  pieces_.clear();
  index_t first = 0;
  std::size_t number = 0;
  for (const Group& group : groups_) {
    for (const auto& [name, tensor] : group.parameters) {
      const std::size_t i = number++;
      const Tensor& gradient = tensor.grad_slot()->gradient;
      if (!gradient.defined()) continue;
      const Stretch whole{.dtype = tensor.dtype(),
                          .count = tensor.count(),
                          .weights = detail::elements_of(tensor),
                          .gradient = gradient.untyped_data(),
                          .kept = {},
                          .steps = steps_[i],
                          .lr = group.lr,
                          .weight_decay = group.weight_decay};
      for (auto& part : kept_.parts_of(static_cast<index_t>(i))) {
        Stretch stretch = part_of(whole, part.begin, part.begin + part.count);
        std::ranges::transform(part.tensors, stretch.kept.begin(), detail::elements_of);
        pieces_.push_back({first, part.count, stretch});
        first += part.count;
      }
    }
  }
}

void Optimizer::check_step() const {
  const bool is_busy = active_recorder != nullptr && !active_recorder->empty();
  for (const Group& group : groups_) {
    for (const auto& [name, tensor] : group.parameters) {
      require(!tensor.grad_slot()->is_replaced, name_, name,
              " was converted or frozen after this optimiser was made; make the optimiser after "
              "nn::convert or nn::thaw, or, to change a copy only, freeze or convert "
              "nn::clone(module)");
      const Tensor& gradient = tensor.grad_slot()->gradient;
      require(!gradient.defined() || gradient.is_contiguous(), name_, "the gradient of ", name,
              " must be contiguous, got strides ", gradient.strides());
      require(!is_busy || !gradient.defined(), name_, "cannot change ", name,
              ": a tape has recorded ops that may read it again; call step after ",
              "tape.backward(loss), or after the tape's scope");
    }
  }
}

void Optimizer::step() {
  // What can fail comes first, so that a failure changes nothing.
  check_step();
  collect();
  detail::for_each_range(pieces_, kUpdateCost, [&](const Piece& piece, index_t begin, index_t end) {
    rule_->update(part_of(piece.stretch, begin, end));
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (variables()[i].tensor.grad_slot()->gradient.defined()) ++steps_[i];
  }
}

// ---- the state ----

template <class F>
void Optimizer::for_each_group_number(const F& f) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::string group = "group." + std::to_string(i);
    f(group + ".lr", &Group::lr, i);
    f(group + ".initial_lr", &Group::initial_lr, i);
    f(group + ".weight_decay", &Group::weight_decay, i);
  }
}

Checkpoint Optimizer::settings() const {
  Checkpoint settings = rule_->mark();
  rule_->for_each_option(
      [&](const char* option, double& value, Rule::Range) { settings.set(option, value); });
  for_each_group_number([&](const std::string& name, double Group::*number, std::size_t i) {
    settings.set(name, groups_[i].*number);
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    settings.set(variables()[i].name + ".step", steps_[i]);
  }
  return settings;
}

Checkpoint Optimizer::state() const {
  Checkpoint state = settings();
  kept_.add_to(state);
  return state;
}

void Optimizer::check_state(const Checkpoint& state) const {
  Checkpoint wanted = settings();
  kept_.add_shapes_to(wanted);
  state.check_names(kLoad, wanted);
  for (const auto& [name, value] : rule_->mark().values) {
    if (state.text(name) == value) continue;
    state.refuse(kLoad, "the state must be that of ", name_,
                 ", got one of a different algorithm: ", name, " must be ", value, ", got ",
                 printable(state.text(name)));
  }
  for_each_group_number([&](const std::string& name, double Group::*, std::size_t) {
    const std::string wrong = wrong_number(name, state.number(name), Rule::Range::kAtLeast0);
    if (!wrong.empty()) state.refuse(kLoad, wrong);
  });
  for (const Parameter& parameter : variables()) state.count(kLoad, parameter.name + ".step");
  check_options(state);
}

void Optimizer::check_options(const Checkpoint& state) const {
  rule_->for_each_option([&](const char* option, double&, Rule::Range range) {
    const std::string wrong = wrong_number(option, state.number(option), range);
    if (!wrong.empty()) state.refuse(kLoad, wrong);
  });
  // A rule knows what is wrong with its own options alone: it tries them.
  const Checkpoint before = settings();
  set_options(state);
  const std::string conflict = rule_->conflict();
  set_options(before);
  if (!conflict.empty()) state.refuse(kLoad, conflict);
}

void Optimizer::set_options(const Checkpoint& state) const {
  rule_->for_each_option(
      [&](const char* option, double& value, Rule::Range) { value = state.number(option); });
}

void Optimizer::load_state(const Checkpoint& state) {
  check_state(state);
  set_options(state);
  for_each_group_number([&](const std::string& name, double Group::*number, std::size_t i) {
    groups_[i].*number = state.number(name);
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i] = state.count(kLoad, variables()[i].name + ".step");
  }
  kept_.load(state);
}

// ---- many processes ----

void Optimizer::share(Communicator& processes) {
  if (processes.size() == 1 && kept_.processes() == nullptr) return;
  constexpr const char* kOp = "share";
  NamedTexts facts = {{"the optimiser", name_}};
  for (const auto& [name, tensor] : variables()) {
    facts.emplace_back("parameter " + name, str_cat(tensor.dtype(), ' ', tensor.shape()));
  }
  for (const auto& [name, value] : settings().values) facts.emplace_back(name, value);
  require_agreement(processes, kOp, facts);
  kept_.share(kOp, processes);
}

}  // namespace tessera::nn
