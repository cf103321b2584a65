#include "tessera/nn/training/optim.h"

#include <cmath>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::nn {

SGD::SGD(std::vector<ParameterGroup> groups, const SGDOptions& o)
    : Optimizer(
          {.name = "SGD",
           .options = {{"momentum", o.momentum},
                       {"dampening", o.dampening},
                       {"nesterov", o.nesterov ? 1.0 : 0.0}},
           .kept = o.momentum != 0 ? std::vector{"momentum_buffer"} : std::vector<const char*>()},
          std::move(groups), o.lr, o.weight_decay),
      options_(o) {
  detail::require_not_negative(name(), "momentum", o.momentum);
  detail::require_finite(name(), "dampening", o.dampening);
  require(!o.nesterov || (o.momentum > 0 && o.dampening == 0), name(),
          "nesterov must have momentum above 0 and dampening 0, got ", o.momentum, " and ",
          o.dampening);
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
        .nesterov = options_.nesterov,
        .rate = static_cast<T>(s.lr),
        .weight_decay = static_cast<T>(s.weight_decay),
        .momentum = static_cast<T>(options_.momentum),
        .gain = static_cast<T>(1 - options_.dampening),
    });
  });
}

Adam::Adam(const char* name, bool is_decoupled, std::vector<ParameterGroup> groups,
           const AdamOptions& o)
    : Optimizer({.name = name,
                 .options = {{"beta1", o.beta1},
                             {"beta2", o.beta2},
                             {"eps", o.eps},
                             {"decoupled", is_decoupled ? 1.0 : 0.0}},
                 .kept = {"exp_avg", "exp_avg_sq"}},
                std::move(groups), o.lr, o.weight_decay),
      is_decoupled_(is_decoupled),
      options_(o) {
  detail::require_decay(name, "beta1", o.beta1);
  detail::require_decay(name, "beta2", o.beta2);
  detail::require_not_negative(name, "eps", o.eps);
}

void Adam::update(const ParameterSlice& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    const double beta1 = options_.beta1, beta2 = options_.beta2;
    const auto t = static_cast<double>(s.steps + 1);
    kernels::table<T>().adam({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .m = s.kept_as<T>(0),
        .v = s.kept_as<T>(1),
        .l2 = static_cast<T>(is_decoupled_ ? 0 : s.weight_decay),
        .keep = static_cast<T>(is_decoupled_ ? 1 - s.lr * s.weight_decay : 1),
        .beta1 = static_cast<T>(beta1),
        .gain1 = static_cast<T>(1 - beta1),
        .beta2 = static_cast<T>(beta2),
        .gain2 = static_cast<T>(1 - beta2),
        .step = static_cast<T>(s.lr / (1 - std::pow(beta1, t))),
        .root = static_cast<T>(std::sqrt(1 - std::pow(beta2, t))),
        .eps = static_cast<T>(options_.eps),
    });
  });
}

}  // namespace tessera::nn
