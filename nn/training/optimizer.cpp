#include "nn/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "nn/training/detail/multi_tensor.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/io/file.h"
#include "tensor/profile_span.h"

namespace tessera::nn {

namespace {

/// The cost of an element, in elementary operations; memory bandwidth is the limit.
constexpr index_t kUpdateCost = 8;

constexpr const char* kLoad = "load_state";

/// Parameters, no two of which are the same variable, share memory or have the same name.
class DistinctParameters {
 public:
  /// Adds a parameter, which must outlive this object. **Errors**: begin with `op`.
  void add(const char* op, const Parameter& parameter) {
    const Parameter* const named = names_.emplace(parameter.name, &parameter).first->second;
    const Parameter* const same =
        variables_.emplace(parameter.tensor.grad_slot().get(), &parameter).first->second;
    for (const Parameter* const first : {named, same}) {
      require(first == &parameter, op, parameter.name, " must appear once, got it also as ",
              first->name);
    }
    add_memory(op, parameter);
  }

 private:
  static const std::byte* begin_of(const Tensor& tensor) {
    return static_cast<const std::byte*>(tensor.untyped_data());
  }
  static const std::byte* end_of(const Tensor& tensor) {
    return begin_of(tensor) + tensor.count() * item_size(tensor.dtype());
  }

  void add_memory(const char* op, const Parameter& parameter) {
    const Tensor& tensor = parameter.tensor;
    if (tensor.count() == 0) return;
    // The parameters added before do not overlap, so only the two neighbours can overlap this one.
    const auto next = memory_.lower_bound(begin_of(tensor));
    const auto refuse = [&](const Parameter& other) {
      fail(op, parameter.name, " and ", other.name,
           " must not share memory as two variables; tie weights after set_requires_grad");
    };
    if (next != memory_.end() && next->first < end_of(tensor)) refuse(*next->second);
    if (next != memory_.begin()) {
      const Parameter& before = *std::prev(next)->second;
      if (end_of(before.tensor) > begin_of(tensor)) refuse(before);
    }
    memory_.emplace_hint(next, begin_of(tensor), &parameter);
  }

  std::map<std::string_view, const Parameter*> names_;
  std::map<const GradSlot*, const Parameter*> variables_;
  std::map<const std::byte*, const Parameter*> memory_;  // by the first byte
};

void check_variable(const char* op, const Parameter& parameter) {
  const auto& [name, tensor] = parameter;
  require(tensor.defined() && tensor.requires_grad(), op, name,
          " must require a gradient; call nn::set_requires_grad(model) first");
  require(tensor.is_contiguous(), op, name, " must be contiguous, got shape ", tensor.shape(),
          " and strides ", tensor.strides());
}

void check_number(const char* op, const char* what, double value) {
  const std::string wrong = wrong_number({{what, value, OptionRange::kAtLeast0}});
  require(wrong.empty(), op, wrong);
}

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

std::string wrong_number(std::initializer_list<NamedNumber> numbers) {
  for (const auto& [name, value, range] : numbers) {
    const bool is_free = range == OptionRange::kFinite;
    const bool is_small = range == OptionRange::kBelow1;
    const bool fits = is_free || (value >= 0 && (!is_small || value < 1));
    if (fits && std::isfinite(value)) continue;
    const char* const rule = is_free ? "finite" : is_small ? "in [0, 1)" : "finite and at least 0";
    return str_cat(name, " must be ", rule, ", got ", value);
  }
  return {};
}

// ---- groups ----

Optimizer::Optimizer(std::vector<ParameterGroup> groups, std::unique_ptr<Rule> rule, double lr,
                     double weight_decay)
    : rule_(std::move(rule)), name_(rule_->name()), kept_names_(rule_->kept()) {
  constexpr std::size_t kMost = std::tuple_size_v<decltype(ParameterSlice::kept)>;
  require(kept_names_.size() <= kMost, name_, "a rule must keep at most ", kMost,
          " tensors for each parameter, got ", kept_names_.size());
  const std::string wrong = rule_->wrong();
  require(wrong.empty(), name_, wrong);
  std::vector<Group> all;
  for (ParameterGroup& group : groups) {
    const double rate = group.lr.value_or(lr);
    const double decay = group.weight_decay.value_or(weight_decay);
    check_number(name_, "lr", rate);
    check_number(name_, "weight_decay", decay);
    all.push_back({std::move(group.parameters), rate, rate, decay});
  }
  take(std::move(all));
}

void Optimizer::take(std::vector<Group> groups) {
  Parameters variables;
  DistinctParameters distinct;
  for (const Group& group : groups) {
    for (const Parameter& parameter : group.parameters) {
      check_variable(name_, parameter);
      distinct.add(name_, parameter);
      variables.push_back(parameter);
    }
  }
  require(!variables.empty(), name_,
          "at least 1 parameter must require a gradient, got none; call "
          "nn::set_requires_grad(model) first");
  groups_ = std::move(groups);
  variables_ = std::move(variables);
  kept_.assign(variables_.size(), {});
  steps_.assign(variables_.size(), 0);
}

void Optimizer::set_parameters(std::vector<Parameters> groups) {
  require(groups.size() == groups_.size(), "set_parameters", "the number of groups must be ",
          groups_.size(), ", got ", groups.size());
  std::vector<Group> all = groups_;
  for (std::size_t i = 0; i < all.size(); ++i) all[i].parameters = std::move(groups[i]);
  take(std::move(all));
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

/// Makes the kept tensors of each parameter if they do not exist yet.
void Optimizer::allocate() {
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Tensor& like = variables_[i].tensor;
    while (kept_[i].size() < kept_names_.size()) {
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

void detail::require_current(const char* op, const Parameter& parameter) {
  require(
      !parameter.tensor.grad_slot()->is_replaced, op, parameter.name,
      " must not be converted or prepacked after this optimiser was made; make the optimiser after "
      "nn::convert or nn::unpack, or, to change only a copy, prepack or convert "
      "nn::clone(module)");
}

void Optimizer::check_step() const {
  const bool is_busy = active_recorder != nullptr && !active_recorder->empty();
  for (const Parameter& variable : variables_) {
    detail::require_current(name_, variable);
    const auto& [name, tensor] = variable;
    const Tensor& gradient = tensor.grad_slot()->gradient;
    require(!gradient.defined() || gradient.is_contiguous(), name_, "the gradient of ", name,
            " must be contiguous, got strides ", gradient.strides());
    require(
        !is_busy || !gradient.defined(), name_, name,
        " must not change while a tape has recorded ops that may read it again; call step after "
        "tape.backward(loss), or after the tape's scope");
  }
}

void Optimizer::step() {
  const ProfileScope scope(name_);
  // Everything that can fail comes first, so that a failure changes nothing.
  check_step();
  open_pieces();
  // A step reads gradients, and reads and writes weights and kept tensors.
  const index_t passes = 3 + 2 * std::ssize(kept_names_);
  for (const Piece& piece : pieces_) {
    count_work(0, static_cast<double>(passes * piece.count * item_size(piece.slice.dtype)));
  }
  detail::for_each_range(pieces_, kUpdateCost, [&](const Piece& piece, index_t begin, index_t end) {
    rule_->update(part_of(piece.slice, begin, end));
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (variables_[i].tensor.grad_slot()->gradient.defined()) ++steps_[i];
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
  Checkpoint settings = rule_->options();
  settings.values.merge(rule_->mark().values);
  for_each_group_number([&](const std::string& name, double Group::*number, std::size_t i) {
    settings.set(name, groups_[i].*number);
  });
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    settings.set(variables_[i].name + ".step", steps_[i]);
  }
  return settings;
}

std::string Optimizer::name_of_kept(std::size_t variable, std::size_t kept) const {
  return variables_[variable].name + '.' + kept_names_[kept];
}

Checkpoint Optimizer::state() const {
  Checkpoint state = settings();
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Tensor& like = variables_[i].tensor;
    for (std::size_t k = 0; k < kept_names_.size(); ++k) {
      state.tensors.emplace(name_of_kept(i, k), kept_[i].empty()
                                                    ? zeros({}, like.dtype()).expand(like.shape())
                                                    : kept_[i][k]);
    }
  }
  return state;
}

void Optimizer::check_state(const Checkpoint& state) const {
  rule_of(state);
}

/// The rule with the options of a matching state.
std::unique_ptr<Rule> Optimizer::rule_of(const Checkpoint& state) const {
  state.check_names(kLoad, this->state());
  for (const auto& [name, value] : rule_->mark().values) {
    if (state.text(name) == value) continue;
    state.refuse(kLoad, name, " must be ", value, " for ", name_, ", got ",
                 printable(state.text(name)), "; load the state of the same algorithm");
  }
  for_each_group_number([&](const std::string& name, double Group::*, std::size_t) {
    const std::string wrong = wrong_number({{name, state.number(name), OptionRange::kAtLeast0}});
    if (!wrong.empty()) state.refuse(kLoad, wrong);
  });
  for (const Parameter& variable : variables_) state.count(kLoad, variable.name + ".step");
  std::unique_ptr<Rule> rule = rule_->with(state);
  const std::string wrong = rule->wrong();
  if (!wrong.empty()) state.refuse(kLoad, wrong);
  return rule;
}

void Optimizer::load_state(const Checkpoint& state) {
  std::unique_ptr<Rule> rule = rule_of(state);
  allocate();
  rule_ = std::move(rule);
  for_each_group_number([&](const std::string& name, double Group::*number, std::size_t i) {
    groups_[i].*number = state.number(name);
  });
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    steps_[i] = state.count(kLoad, variables_[i].name + ".step");
    for (std::size_t k = 0; k < kept_names_.size(); ++k) {
      kept_[i][k].copy_from(state.tensors.at(name_of_kept(i, k)).detach());
    }
  }
}

}  // namespace tessera::nn
