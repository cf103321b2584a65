#include "nn/training/optim.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "nn/training/multi_tensor.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::nn {

namespace {

/// What an element costs, in elementary operations; memory sets the pace.
constexpr index_t kCost = 8;

template <class T>
T* at(void* base, index_t offset) {
  return base == nullptr ? nullptr : static_cast<T*>(base) + offset;
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() < b.offset() + b.count() &&
         b.offset() < a.offset() + a.count();
}

/// What is wrong with `value` as the option called `what`; empty: nothing.
std::string wrong_number(std::string_view what, double value) {
  const bool is_beta = what == "beta1" || what == "beta2";
  const bool is_free = what == "dampening";
  if (std::isfinite(value) && (is_free || (value >= 0 && (!is_beta || value < 1)))) return {};
  return format(what, " is ", value,
                is_beta   ? ", not in [0, 1)"
                : is_free ? ""
                          : ", not a number >= 0");
}

void check_number(const char* op, const char* what, double value) {
  const std::string wrong = wrong_number(what, value);
  require(wrong.empty(), op, wrong);
}

/// Whether Nesterov's momentum, if that is asked for, has what it needs.
bool may_nesterov(bool nesterov, double momentum, double dampening) {
  return !nesterov || (momentum > 0 && dampening == 0);
}

constexpr const char* kNesterov = "nesterov wants a momentum and no dampening";

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

Optimizer::Optimizer(const char* name, std::vector<ParameterGroup> groups, const Rule& rule,
                     double lr, double weight_decay)
    : name_(name), rule_(rule) {
  for (ParameterGroup& group : groups) add_group(std::move(group), lr, weight_decay);
  require(!moments_.empty(), name_,
          "no parameter wants a gradient; call nn::set_requires_grad(model) before");
}

void Optimizer::check_parameter(const Parameter& parameter) const {
  const auto& [name, tensor] = parameter;
  require(tensor.defined() && tensor.requires_grad(), name_, name, " wants no gradient");
  require(tensor.is_contiguous(), name_, name, " of shape ", tensor.shape(), ", strides ",
          tensor.strides(), " is not contiguous");
  for (const Group& group : groups_) {
    for (const Parameter& other : group.parameters) {
      require(other.tensor.grad_slot() != tensor.grad_slot() && other.name != name, name_, name,
              " appears twice, first as ", other.name);
      require(!overlap(other.tensor, tensor), name_, name, " and ", other.name,
              " share memory, but are two variables; tie weights after set_requires_grad");
    }
  }
}

void Optimizer::add_group(ParameterGroup group, double lr, double weight_decay) {
  const double rate = group.lr.value_or(lr);
  const double decay = group.weight_decay.value_or(weight_decay);
  check_number(name_, "lr", rate);
  check_number(name_, "weight_decay", decay);
  groups_.push_back({.parameters = {}, .lr = rate, .initial_lr = rate, .weight_decay = decay});
  const bool has_first = rule_.kind != Kind::kSgd || rule_.momentum != 0;
  const bool has_second = rule_.kind != Kind::kSgd;
  for (Parameter& parameter : group.parameters) {
    check_parameter(parameter);
    const Tensor& x = parameter.tensor;
    Moments moments;
    if (has_first) moments.first = Tensor::empty(x.shape(), x.dtype()).fill(0);
    if (has_second) moments.second = Tensor::empty(x.shape(), x.dtype()).fill(0);
    moments_.push_back(std::move(moments));
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
  require(group < groups_.size(), "set_lr", "group ", group, " of ", groups_.size());
  check_number("set_lr", "lr", lr);
  groups_[group].lr = lr;
}

// ---- the step ----

template <class T>
void Optimizer::collect(std::vector<Piece>& pieces) {
  pieces.clear();
  index_t first = 0;
  auto moments = moments_.begin();
  for (Group& group : groups_) {
    for (Parameter& parameter : group.parameters) {
      Moments& of = *moments++;
      Tensor& w = parameter.tensor;
      const Tensor& gradient = w.grad_slot()->gradient;
      if (!gradient.defined() || w.dtype() != dtype_of<T>) continue;
      pieces.push_back({
          .first = first,
          .count = w.count(),
          .w = w.mutable_data<T>(),
          .gradient = gradient.data<T>(),
          .moments = &of,
          .m = of.first.defined() ? of.first.mutable_data<T>() : nullptr,
          .v = of.second.defined() ? of.second.mutable_data<T>() : nullptr,
          .lr = group.lr,
          .weight_decay = group.weight_decay,
      });
      first += w.count();
    }
  }
}

template <class T>
void Optimizer::run_sgd(const std::vector<Piece>& pieces) const {
  const auto kernel = kernels::table().of<T>().sgd;
  detail::for_each_range(pieces, kCost, [&](const Piece& p, index_t begin, index_t end) {
    kernel({
        .n = end - begin,
        .w = at<T>(p.w, begin),
        .gradient = static_cast<const T*>(p.gradient) + begin,
        .buffer = at<T>(p.m, begin),
        .first = p.moments->steps == 0,
        .nesterov = rule_.nesterov != 0,
        .rate = static_cast<T>(p.lr),
        .weight_decay = static_cast<T>(p.weight_decay),
        .momentum = static_cast<T>(rule_.momentum),
        .gain = static_cast<T>(1 - rule_.dampening),
    });
  });
}

template <class T>
void Optimizer::run_adam(const std::vector<Piece>& pieces) const {
  const auto kernel = kernels::table().of<T>().adam;
  const bool decoupled = rule_.kind == Kind::kAdamW;
  detail::for_each_range(pieces, kCost, [&](const Piece& p, index_t begin, index_t end) {
    const auto t = static_cast<double>(p.moments->steps + 1);
    kernel({
        .n = end - begin,
        .w = at<T>(p.w, begin),
        .gradient = static_cast<const T*>(p.gradient) + begin,
        .m = at<T>(p.m, begin),
        .v = at<T>(p.v, begin),
        .l2 = static_cast<T>(decoupled ? 0 : p.weight_decay),
        .keep = static_cast<T>(decoupled ? 1 - p.lr * p.weight_decay : 1),
        .beta1 = static_cast<T>(rule_.beta1),
        .gain1 = static_cast<T>(1 - rule_.beta1),
        .beta2 = static_cast<T>(rule_.beta2),
        .gain2 = static_cast<T>(1 - rule_.beta2),
        .step = static_cast<T>(p.lr / (1 - std::pow(rule_.beta1, t))),
        .root = static_cast<T>(std::sqrt(1 - std::pow(rule_.beta2, t))),
        .eps = static_cast<T>(rule_.eps),
    });
  });
}

template <class T>
void Optimizer::run(const std::vector<Piece>& pieces) const {
  switch (rule_.kind) {
    case Kind::kSgd:
      run_sgd<T>(pieces);
      break;
    case Kind::kAdam:
    case Kind::kAdamW:
      run_adam<T>(pieces);
      break;
  }
  for (const Piece& piece : pieces) ++piece.moments->steps;
}

void Optimizer::check_step() const {
  const bool is_busy = active_recorder != nullptr && !active_recorder->empty();
  for (const Group& group : groups_) {
    for (const auto& [name, tensor] : group.parameters) {
      require(!tensor.grad_slot()->is_replaced, name_, name,
              " was converted after this optimiser was made, which holds what it was before; ",
              "make the optimiser after nn::convert, or, if it was a copy that was converted, ",
              "convert nn::clone(module)");
      const Tensor& gradient = tensor.grad_slot()->gradient;
      require(!gradient.defined() || gradient.is_contiguous(), name_, "the gradient of ", name,
              " is not contiguous");
      require(!is_busy || !gradient.defined(), name_, "cannot change ", name,
              ": a tape has recorded ops that may read it again; call step after ",
              "tape.backward(loss), or after the tape's scope");
    }
  }
}

void Optimizer::step() {
  // What can fail comes first, so that a failure changes nothing.
  check_step();
  collect<float>(pieces_f32_);
  collect<double>(pieces_f64_);
  run<float>(pieces_f32_);
  run<double>(pieces_f64_);
}

// ---- the state ----

template <class Self, class F>
void Optimizer::for_each_number(Self& self, const F& f) {
  auto& rule = self.rule_;
  if (rule.kind == Kind::kSgd) {
    f("momentum", rule.momentum);
    f("dampening", rule.dampening);
    f("nesterov", rule.nesterov);
  } else {
    f("beta1", rule.beta1);
    f("beta2", rule.beta2);
    f("eps", rule.eps);
  }
  for (std::size_t i = 0; i < self.groups_.size(); ++i) {
    const std::string group = "group." + std::to_string(i);
    f(group + ".lr", self.groups_[i].lr);
    f(group + ".initial_lr", self.groups_[i].initial_lr);
    f(group + ".weight_decay", self.groups_[i].weight_decay);
  }
}

Checkpoint Optimizer::state() const {
  Checkpoint state;
  // Adam's and AdamW's states look alike, but are not for each other.
  const bool is_sgd = rule_.kind == Kind::kSgd;
  if (!is_sgd) state.set("decoupled", rule_.kind == Kind::kAdamW);
  for_each_number(*this, [&](const std::string& name, double value) { state.set(name, value); });
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const auto& [name, tensor] : group.parameters) {
      const auto& [steps, first, second] = *moments++;
      state.set(name + ".step", steps);
      if (first.defined()) {
        state.tensors.emplace(name + (is_sgd ? ".momentum_buffer" : ".exp_avg"), first);
      }
      if (second.defined()) state.tensors.emplace(name + ".exp_avg_sq", second);
    }
  }
  return state;
}

void Optimizer::check_state(const Checkpoint& state, const Checkpoint& own) const {
  constexpr const char* kOp = "load_state";
  state.check_names(kOp, own);
  if (own.has("decoupled") && state.text("decoupled") != own.text("decoupled")) {
    state.refuse(kOp, "the state is that of another algorithm than ", name_);
  }
  for_each_number(*this, [&](const std::string& name, double) {
    const std::string wrong = wrong_number(name, state.number(name));
    if (!wrong.empty()) state.refuse(kOp, wrong);
  });
  for (const Group& group : groups_) {
    for (const Parameter& parameter : group.parameters) state.count(kOp, parameter.name + ".step");
  }
  if (rule_.kind == Kind::kSgd &&
      !may_nesterov(state.number("nesterov") != 0, state.number("momentum"),
                    state.number("dampening"))) {
    state.refuse(kOp, kNesterov);
  }
}

void Optimizer::load_state(const Checkpoint& state) {
  const Checkpoint own = this->state();
  check_state(state, own);
  for_each_number(*this,
                  [&](const std::string& name, double& value) { value = state.number(name); });
  auto moments = moments_.begin();
  for (const Group& group : groups_) {
    for (const Parameter& parameter : group.parameters) {
      (moments++)->steps = state.count("load_state", parameter.name + ".step");
    }
  }
  for (const auto& [name, tensor] : own.tensors) Tensor(tensor).copy_from(state.tensors.at(name));
}

// ---- the algorithms ----

SGD::SGD(std::vector<ParameterGroup> groups, const SgdOptions& o)
    : Optimizer("SGD", std::move(groups),
                {.kind = Kind::kSgd,
                 .momentum = o.momentum,
                 .dampening = o.dampening,
                 .nesterov = o.nesterov ? 1.0 : 0.0},
                o.lr, o.weight_decay) {
  check_number("SGD", "momentum", o.momentum);
  check_number("SGD", "dampening", o.dampening);
  require(may_nesterov(o.nesterov, o.momentum, o.dampening), "SGD", kNesterov);
}

namespace {

/// The options that Adam and AdamW share, checked.
template <class Rule, class Kind, class Options>
Rule adam_rule(const char* name, Kind kind, const Options& o) {
  check_number(name, "beta1", o.beta1);
  check_number(name, "beta2", o.beta2);
  check_number(name, "eps", o.eps);
  return {.kind = kind, .beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps};
}

}  // namespace

Adam::Adam(std::vector<ParameterGroup> groups, const AdamOptions& o)
    : Optimizer("Adam", std::move(groups), adam_rule<Rule>("Adam", Kind::kAdam, o), o.lr,
                o.weight_decay) {}

AdamW::AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& o)
    : Optimizer("AdamW", std::move(groups), adam_rule<Rule>("AdamW", Kind::kAdamW, o), o.lr,
                o.weight_decay) {}

}  // namespace tessera::nn
