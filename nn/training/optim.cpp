#include "nn/training/optim.h"

#include <cmath>

#include "tensor/kernels/dispatch.h"

namespace tessera::nn {

// ---- SGD ----

std::vector<const char*> SgdRule::kept() const {
  return options.momentum != 0 ? std::vector{"momentum_buffer"} : std::vector<const char*>();
}

void SgdRule::for_each_option(const Visit& visit) {
  visit("momentum", options.momentum, Range::kAtLeast0);
  visit("dampening", options.dampening, Range::kFinite);
  double nesterov = options.nesterov ? 1 : 0;
  visit("nesterov", nesterov, Range::kAtLeast0);
  options.nesterov = nesterov != 0;
}

std::string SgdRule::conflict() const {
  const bool fits = !options.nesterov || (options.momentum > 0 && options.dampening == 0);
  if (fits) return "";
  return str_cat("nesterov needs momentum above 0 and dampening 0, got ", options.momentum, " and ",
                 options.dampening);
}

void SgdRule::update(const Stretch& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    kernels::table().of<T>().sgd({
        .n = s.count,
        .w = s.weights_as<T>(),
        .gradient = s.gradient_as<T>(),
        .buffer = s.kept_as<T>(0),
        .first = s.steps == 0,
        .nesterov = options.nesterov,
        .rate = static_cast<T>(s.lr),
        .weight_decay = static_cast<T>(s.weight_decay),
        .momentum = static_cast<T>(options.momentum),
        .gain = static_cast<T>(1 - options.dampening),
    });
  });
}

// ---- Adam and AdamW ----

void MomentsRule::for_each_option(const Visit& visit) {
  visit("beta1", beta1, Range::kBelow1);
  visit("beta2", beta2, Range::kBelow1);
  visit("eps", eps, Range::kAtLeast0);
}

Checkpoint MomentsRule::mark() const {
  Checkpoint mark;
  mark.set("decoupled", is_decoupled);
  return mark;
}

void MomentsRule::update(const Stretch& s) const {
  visit_floating(s.dtype, [&](auto kind) {
    using T = decltype(kind);
    const auto t = static_cast<double>(s.steps + 1);
    kernels::table().of<T>().adam({
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
        .eps = static_cast<T>(eps),
    });
  });
}

}  // namespace tessera::nn
