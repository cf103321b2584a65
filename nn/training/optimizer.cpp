#include "tessera/nn/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/nn/training/detail/multi_tensor.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::nn {

namespace {

/// The cost of an element, in elementary operations; memory bandwidth is the limit.
constexpr index_t kUpdateCost = 8;

constexpr const char* kLoad = "load_state";

void check_variable(const char* op, const Parameter& parameter) {
  const auto& [name, tensor] = parameter;
  require(tensor.defined() && tensor.requires_grad(), op, name,
          " must require a gradient; call nn::set_requires_grad(model) first");
  require(tensor.is_contiguous(), op, name, " must be contiguous, got shape ", tensor.shape(),
          " and strides ", tensor.strides());
}

/// Throws if two parameters are the same variable, or have the same name.
void check_distinct(const char* op, const Parameters& parameters) {
  std::map<std::string_view, std::string_view> names;
  std::map<const GradSlot*, std::string_view> slots;
  for (const auto& [name, tensor] : parameters) {
    const bool is_new = names.emplace(name, name).second;
    const auto [slot, is_other] = slots.emplace(tensor.grad_slot().get(), name);
    require(is_new && is_other, op, name, " must appear once, got it also as ",
            is_new ? slot->second : name);
  }
}

/// Throws if parameters share memory.
void check_memory(const char* op, const Parameters& parameters) {
  std::vector<const Parameter*> by_place;
  for (const Parameter& parameter : parameters) {
    if (parameter.tensor.count() > 0) by_place.push_back(&parameter);
  }
  const auto begin_of = [](const Parameter* p) {
    return static_cast<const std::byte*>(p->tensor.untyped_data());
  };
  std::ranges::stable_sort(by_place, std::less(), begin_of);
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const Tensor& before = by_place[i - 1]->tensor;
    const std::byte* const end =
        begin_of(by_place[i - 1]) + before.count() * item_size(before.dtype());
    const auto [first, later] = std::minmax(by_place[i - 1], by_place[i]);  // as in `parameters`
    require(end <= begin_of(by_place[i]), op, later->name, " and ", first->name,
            " must not share memory as two variables; tie weights after set_requires_grad");
  }
}

/// The numbers of a group that a state has, by the ends of their names.
constexpr std::pair<const char*, double Optimizer::Group::*> kGroupNumbers[] = {
    {".lr", &Optimizer::Group::lr},
    {".initial_lr", &Optimizer::Group::initial_lr},
    {".weight_decay", &Optimizer::Group::weight_decay}};

/// The same slice with pointers to the elements from `begin` on.
ParameterSlice part_of(const ParameterSlice& whole, index_t begin, index_t end) {
  ParameterSlice part = whole;
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

// ---- groups ----

Optimizer::Optimizer(Algorithm algorithm, std::vector<ParameterGroup> groups, double lr,
                     double weight_decay)
    : algorithm_(std::move(algorithm)) {
  constexpr std::size_t kMost = std::tuple_size_v<decltype(ParameterSlice::kept)>;
  require(algorithm_.kept.size() <= kMost, name(), "an optimiser must keep at most ", kMost,
          " tensors for each parameter, got ", algorithm_.kept.size());
  for (ParameterGroup& group : groups) {
    const double rate = group.lr.value_or(lr);
    const double decay = group.weight_decay.value_or(weight_decay);
    detail::require_not_negative(name(), "lr", rate);
    detail::require_not_negative(name(), "weight_decay", decay);
    for (const Parameter& parameter : group.parameters) {
      check_variable(name(), parameter);
      parameter.tensor.grad_slot()->is_replaced = false;  // in a copy of this model
      variables_.push_back(parameter);
    }
    groups_.push_back({std::move(group.parameters), rate, rate, decay});
  }
  require(!variables_.empty(), name(),
          "at least 1 parameter must require a gradient, got none; call "
          "nn::set_requires_grad(model) first");
  check_distinct(name(), variables_);
  check_memory(name(), variables_);
  kept_.resize(variables_.size());
  steps_.resize(variables_.size());
}

void Optimizer::zero_grad() {
  for (Parameter& variable : variables_) variable.tensor.zero_grad();
}

void Optimizer::set_lr(double lr) {
  for (std::size_t i = 0; i < groups_.size(); ++i) set_lr(i, lr);
}

void Optimizer::set_lr(std::size_t group, double lr) {
  require(group < groups_.size(), "set_lr", "group must be below ", groups_.size(), ", got ",
          group);
  detail::require_not_negative("set_lr", "lr", lr);
  groups_[group].lr = lr;
  if (!is_scheduled_) groups_[group].initial_lr = lr;
}

// ---- the step ----

/// Makes the kept tensors of each parameter if they do not exist yet.
void Optimizer::allocate() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Tensor& like = variables_[i].tensor;
    while (kept_[i].size() < algorithm_.kept.size()) {
      kept_[i].push_back(zeros(like.shape(), like.dtype()));
    }
  }
}

/// Makes the pieces that this step writes to. The versions of their memory are bumped here.
void Optimizer::open_pieces() {
  allocate();
  pieces_.clear();
  index_t first = 0;
  std::size_t number = 0;
  for (const Group& group : groups_) {
    for (const auto& [name, tensor] : group.parameters) {
      const std::size_t i = number++;
      const Tensor& gradient = tensor.grad_slot()->gradient;
      if (!gradient.defined()) continue;
      ParameterSlice slice{.dtype = tensor.dtype(),
                           .count = tensor.count(),
                           .weights = detail::mutable_elements_of(tensor),
                           .gradient = gradient.untyped_data(),
                           .kept = {},
                           .steps = steps_[i],
                           .lr = group.lr,
                           .weight_decay = group.weight_decay};
      std::ranges::transform(kept_[i], slice.kept.begin(), detail::mutable_elements_of);
      pieces_.push_back({first, slice.count, slice});
      first += slice.count;
    }
  }
}

void Optimizer::check_step() const {
  const bool is_busy = active_recorder != nullptr && !active_recorder->empty();
  for (const auto& [parameter, tensor] : variables_) {
    const GradSlot& slot = *tensor.grad_slot();
    constexpr long kOwn = 2;  // handles, in groups_ and variables_
    const bool is_lost = tensor.grad_slot().use_count() <= kOwn && !slot.is_frozen;
    require(!slot.is_replaced && !is_lost, name(), parameter,
            " must still be a variable of the model, which has replaced it; make the optimiser "
            "after nn::convert, prepack and unpack, or convert or prepack only nn::clone(module), "
            "and change a parameter by copy_from(), not by =");
    const Tensor& gradient = tensor.grad_slot()->gradient;
    if (!gradient.defined()) continue;
    require(gradient.shape() == tensor.shape() && gradient.dtype() == tensor.dtype(), name(),
            "the gradient of ", parameter, " must be ", tensor.dtype(), ' ', tensor.shape(),
            " like the parameter, got ", gradient.dtype(), ' ', gradient.shape());
    require(gradient.is_contiguous(), name(), "the gradient of ", parameter,
            " must be contiguous, got strides ", gradient.strides());
    require(!is_busy, name(), parameter,
            " must not change while a tape has recorded ops that may read it again; call step "
            "after tape.backward(loss), or after the tape's scope");
  }
  const bool any = std::ranges::any_of(variables_, [](const Parameter& variable) {
    return variable.tensor.grad_slot()->gradient.defined();
  });
  require(
      any, name(), "at least 1 parameter must have a gradient, got none of ", variables_.size(),
      "; call tape.backward(loss) before step(), with a loss of this optimiser's parameters that "
      "the tape recorded, and zero_grad() after it");
}

void Optimizer::step() {
  const ProfileScope scope(name());
  // Everything that can fail comes first, so that a failure changes nothing.
  check_step();
  open_pieces();
  // A step reads gradients, and reads and writes weights and kept tensors.
  const index_t passes = 3 + 2 * std::ssize(algorithm_.kept);
  for (const Piece& piece : pieces_) {
    count_work(0, static_cast<double>(passes * piece.count * item_size(piece.slice.dtype)));
  }
  detail::for_each_range(pieces_, kUpdateCost, [&](const Piece& piece, index_t begin, index_t end) {
    update(part_of(piece.slice, begin, end));
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (variables_[i].tensor.grad_slot()->gradient.defined()) ++steps_[i];
  }
}

// ---- the state ----

Checkpoint Optimizer::state() const {
  Checkpoint state;
  for (const auto& [option, value] : algorithm_.options) state.set(option, value);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    for (const auto& [end, number] : kGroupNumbers) {
      state.set(str_cat("group.", i, end), groups_[i].*number);
    }
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto& [name, like] = variables_[i];
    state.set(name + ".step", steps_[i]);
    for (std::size_t k = 0; k < algorithm_.kept.size(); ++k) {
      state.tensors.emplace(
          name + '.' + algorithm_.kept[k],
          kept_[i].empty() ? zeros({}, like.dtype()).expand(like.shape()) : kept_[i][k]);
    }
  }
  return state;
}

void Optimizer::load_state(const Checkpoint& state) {
  // Everything that can fail comes first, so that a failure changes nothing.
  state.check_names(kLoad, this->state());
  for (const auto& [option, value] : algorithm_.options) {
    if (state.number(option) == value) continue;
    state.refuse(kLoad, option, " must be ", value, " as in this ", name(), ", got ",
                 printable(state.text(option)),
                 "; make an optimiser with the options of the state");
  }
  std::vector<Group> groups = groups_;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const auto& [end, number] : kGroupNumbers) {
      const std::string name = str_cat("group.", i, end);
      const double value = groups[i].*number = state.number(name);
      if (value >= 0 && std::isfinite(value)) continue;
      state.refuse(kLoad, name, " must be finite and at least 0, got ", value);
    }
  }
  std::vector<index_t> steps;
  for (const Parameter& variable : variables_) {
    steps.push_back(state.count(kLoad, variable.name + ".step"));
  }
  allocate();
  groups_ = std::move(groups);
  steps_ = std::move(steps);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    for (std::size_t k = 0; k < algorithm_.kept.size(); ++k) {
      const std::string name = variables_[i].name + '.' + algorithm_.kept[k];
      kept_[i][k].copy_from(state.tensors.at(name).detach());
    }
  }
}

}  // namespace tessera::nn
