#include "nn/module.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/gradient.h"

namespace tessera::nn::detail {

namespace {

bool is_same_variable(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.grad_slot() == b.grad_slot() && a.dtype() == b.dtype() &&
         a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

/// Replaces variables by new ones, one for each: tied parameters stay tied.
class Replacements {
 public:
  /// Sets `parameter` to its replacement, made by `make(parameter)` the first time. The replacement
  /// of a variable is a variable.
  void replace(Tensor& parameter, const std::function<Tensor(const Tensor&)>& make) {
    const auto known = std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) {
      return is_same_variable(pair.first, parameter);
    });
    if (known != pairs_.end()) {
      parameter = known->second;
      return;
    }
    Tensor made = make(parameter.detach());
    if (parameter.requires_grad()) made.set_requires_grad();
    pairs_.emplace_back(parameter, made);
    parameter = made;
  }

 private:
  std::vector<std::pair<Tensor, Tensor>> pairs_;
};

}  // namespace

index_t parameter_count(const Parts& parts) {
  index_t count = 0;
  const auto add = [&](const std::string&, const auto& parameter) { count += parameter.count(); };
  parts.for_each(add, add);
  return count;
}

void set_training(const Parts& parts, bool training) {
  for (const Parts::Mode& mode : parts.modes) *mode.training = training;
}

void set_requires_grad(const Parts& parts, bool wanted) {
  const auto set = [&](const std::string&, Tensor& parameter) {
    parameter.set_requires_grad(wanted);
  };
  if (wanted) {
    // A copy of the handle has the same errors: after an error nothing is changed.
    const auto check = [](const std::string&, Tensor copy) { copy.set_requires_grad(); };
    parts.for_each(check, refuse_prepacked);
    parts.for_each(set, refuse_prepacked);
  } else {
    parts.for_each(set, kSkipPrepacked);
  }
}

void zero_grad(const Parts& parts) {
  parts.for_each([](const std::string&, Tensor& parameter) { parameter.zero_grad(); },
                 kSkipPrepacked);
}

void convert(const Parts& parts, DType dtype) {
  require(is_floating(dtype), "convert", "dtype must be floating, got ", dtype);
  parts.for_each([](const std::string&, const Tensor&) {}, refuse_prepacked);
  Replacements converted;
  const auto convert_one = [&](const std::string&, Tensor& parameter) {
    if (parameter.dtype() == dtype || !is_floating(parameter.dtype())) return;
    converted.replace(parameter, [&](const Tensor& p) { return p.to(dtype); });
  };
  parts.for_each(convert_one, refuse_prepacked);
  for (Buffer* const buffer : parts.buffers) buffer->convert(dtype);
}

void clone_parameters(const Parts& parts) {
  Replacements cloned;
  const auto replace = [&](const std::string&, Tensor& parameter) {
    cloned.replace(parameter, [](const Tensor& p) { return p.clone(); });
  };
  parts.for_each(replace, kSkipPrepacked);  // prepacked weights never change
}

}  // namespace tessera::nn::detail
