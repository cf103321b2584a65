#include "nn/training/optim.h"

#include <cmath>

#include "tensor/kernels/table.h"

namespace tessera::nn {

// ---- SGD ----

std::vector<const char*> SgdRule::kept() const {
  return numbers.momentum != 0 ? std::vector{"momentum_buffer"} : std::vector<const char*>();
}

std::string SgdRule::wrong() const {
  const std::string wrong = wrong_number({{"momentum", numbers.momentum, OptionRange::kAtLeast0},
                                          {"dampening", numbers.dampening, OptionRange::kFinite}});
  const bool fits = !numbers.nesterov || (numbers.momentum > 0 && numbers.dampening == 0);
  if (!wrong.empty() || fits) return wrong;
  return str_cat("nesterov must have momentum above 0 and dampening 0, got ", numbers.momentum,
                 " and ", numbers.dampening);
}

Checkpoint SgdRule::options() const {
  Checkpoint options;
  options.set("momentum", numbers.momentum);
  options.set("dampening", numbers.dampening);
  options.set("nesterov", numbers.nesterov);
  return options;
}

std::unique_ptr<Rule> SgdRule::with(const Checkpoint& state) const {
  return std::make_unique<SgdRule>(
      SgdOptions{.momentum = state.number("momentum"),
                 .dampening = state.number("dampening"),
                 .nesterov = state.count("load_state", "nesterov") != 0});
}

void SgdRule::update(const ParameterSlice& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    kernels::table().of<T>().sgd({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .buffer = s.kept_as<T>(0),
        .first = s.steps == 0,
        .nesterov = numbers.nesterov,
        .rate = static_cast<T>(s.lr),
        .weight_decay = static_cast<T>(s.weight_decay),
        .momentum = static_cast<T>(numbers.momentum),
        .gain = static_cast<T>(1 - numbers.dampening),
    });
  });
}

// ---- Adam and AdamW ----

template <class AnyOptions>
std::string MomentsRule<AnyOptions>::wrong() const {
  return wrong_number({{"beta1", numbers.beta1, OptionRange::kBelow1},
                       {"beta2", numbers.beta2, OptionRange::kBelow1},
                       {"eps", numbers.eps, OptionRange::kAtLeast0}});
}

template <class AnyOptions>
Checkpoint MomentsRule<AnyOptions>::options() const {
  Checkpoint options;
  options.set("beta1", numbers.beta1);
  options.set("beta2", numbers.beta2);
  options.set("eps", numbers.eps);
  return options;
}

template <class AnyOptions>
std::unique_ptr<Rule> MomentsRule<AnyOptions>::with(const Checkpoint& state) const {
  return std::make_unique<MomentsRule>(Options{
      .beta1 = state.number("beta1"), .beta2 = state.number("beta2"), .eps = state.number("eps")});
}

template <class AnyOptions>
Checkpoint MomentsRule<AnyOptions>::mark() const {
  Checkpoint mark;
  mark.set("decoupled", kIsDecoupled);
  return mark;
}

template <class AnyOptions>
void MomentsRule<AnyOptions>::update(const ParameterSlice& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    const auto t = static_cast<double>(s.steps + 1);
    kernels::table().of<T>().adam({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .m = s.kept_as<T>(0),
        .v = s.kept_as<T>(1),
        .l2 = static_cast<T>(kIsDecoupled ? 0 : s.weight_decay),
        .keep = static_cast<T>(kIsDecoupled ? 1 - s.lr * s.weight_decay : 1),
        .beta1 = static_cast<T>(numbers.beta1),
        .gain1 = static_cast<T>(1 - numbers.beta1),
        .beta2 = static_cast<T>(numbers.beta2),
        .gain2 = static_cast<T>(1 - numbers.beta2),
        .step = static_cast<T>(s.lr / (1 - std::pow(numbers.beta1, t))),
        .root = static_cast<T>(std::sqrt(1 - std::pow(numbers.beta2, t))),
        .eps = static_cast<T>(numbers.eps),
    });
  });
}

template struct MomentsRule<AdamOptions>;
template struct MomentsRule<AdamWOptions>;

}  // namespace tessera::nn
