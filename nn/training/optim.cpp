#include "nn/training/optim.h"

#include <cmath>

#include "tensor/error.h"
#include "tensor/kernels/table.h"

namespace tessera::nn {

SGD::SGD(std::vector<ParameterGroup> groups, const SgdOptions& o)
    : Optimizer(
          {.name = "SGD",
           .options = {{"momentum", o.momentum, OptionRange::kAtLeast0},
                       {"dampening", o.dampening, OptionRange::kFinite},
                       {"nesterov", o.nesterov ? 1.0 : 0.0, OptionRange::kAtLeast0}},
           .kept = o.momentum != 0 ? std::vector{"momentum_buffer"} : std::vector<const char*>()},
          std::move(groups), o.lr, o.weight_decay) {
  const std::string text = conflict();
  require(text.empty(), name(), text);
}

std::string SGD::conflict() const {
  const double momentum = option("momentum"), dampening = option("dampening");
  const double nesterov = option("nesterov");
  if (nesterov != 0 && nesterov != 1) return str_cat("nesterov must be 0 or 1, got ", nesterov);
  if (nesterov == 0 || (momentum > 0 && dampening == 0)) return {};
  return str_cat("nesterov must have momentum above 0 and dampening 0, got ", momentum, " and ",
                 dampening);
}

void SGD::update(const ParameterSlice& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    kernels::table<T>().sgd({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .buffer = s.kept_as<T>(0),
        .first = s.steps == 0,
        .nesterov = option("nesterov") != 0,
        .rate = static_cast<T>(s.lr),
        .weight_decay = static_cast<T>(s.weight_decay),
        .momentum = static_cast<T>(option("momentum")),
        .gain = static_cast<T>(1 - option("dampening")),
    });
  });
}

Adam::Adam(const char* name, bool is_decoupled, std::vector<ParameterGroup> groups,
           const AdamOptions& o)
    : Optimizer({.name = name,
                 .options = {{"beta1", o.beta1, OptionRange::kBelow1},
                             {"beta2", o.beta2, OptionRange::kBelow1},
                             {"eps", o.eps, OptionRange::kAtLeast0},
                             {"decoupled", is_decoupled ? 1.0 : 0.0, OptionRange::kFixed}},
                 .kept = {"exp_avg", "exp_avg_sq"}},
                std::move(groups), o.lr, o.weight_decay) {}

void Adam::update(const ParameterSlice& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    const double beta1 = option("beta1"), beta2 = option("beta2");
    const bool is_decoupled = option("decoupled") != 0;
    const auto t = static_cast<double>(s.steps + 1);
    kernels::table<T>().adam({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .m = s.kept_as<T>(0),
        .v = s.kept_as<T>(1),
        .l2 = static_cast<T>(is_decoupled ? 0 : s.weight_decay),
        .keep = static_cast<T>(is_decoupled ? 1 - s.lr * s.weight_decay : 1),
        .beta1 = static_cast<T>(beta1),
        .gain1 = static_cast<T>(1 - beta1),
        .beta2 = static_cast<T>(beta2),
        .gain2 = static_cast<T>(1 - beta2),
        .step = static_cast<T>(s.lr / (1 - std::pow(beta1, t))),
        .root = static_cast<T>(std::sqrt(1 - std::pow(beta2, t))),
        .eps = static_cast<T>(option("eps")),
    });
  });
}

}  // namespace tessera::nn
