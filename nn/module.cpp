#include "tessera/nn/module.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"

namespace tessera::nn::detail {

namespace {

bool is_same_variable(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.grad_slot() == b.grad_slot() && a.dtype() == b.dtype() &&
         a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

/// New tensors for parameters, one for each variable: tied parameters stay tied. Parameters change
/// only in replace_all(), which cannot fail.
class Replacements {
 public:
  /// Adds a replacement of `parameter`, made by `make(parameter)` the first time. The replacement
  /// of a variable is a variable.
  void add(Tensor& parameter, const std::function<Tensor(const Tensor&)>& make) {
    const auto known = std::ranges::find_if(
        all_, [&](const auto& other) { return is_same_variable(*other.first, parameter); });
    if (known != all_.end()) {
      all_.emplace_back(&parameter, known->second);
      return;
    }
    Tensor made = make(parameter.detach());
    if (parameter.requires_grad()) made.set_requires_grad();
    all_.emplace_back(&parameter, std::move(made));
  }

  void replace_all() {
    for (auto& [parameter, made] : all_) *parameter = std::move(made);
  }

 private:
  std::vector<std::pair<Tensor*, Tensor>> all_;
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
  if (!wanted) {
    const auto freeze = [](const std::string&, Tensor& parameter) {
      parameter.zero_grad();  // an optimiser may still hold the variable
      parameter.set_requires_grad(false);
    };
    return parts.for_each(freeze, kSkipPrepacked);
  }
  std::vector<std::pair<Tensor*, Tensor>> variables;
  const auto add = [&](const std::string&, Tensor& parameter) {
    variables.emplace_back(&parameter, parameter);
    variables.back().second.set_requires_grad();
  };
  parts.for_each(add, refuse_prepacked);
  for (auto& [parameter, variable] : variables) *parameter = std::move(variable);
}

void zero_grad(const Parts& parts) {
  parts.for_each([](const std::string&, Tensor& parameter) { parameter.zero_grad(); },
                 kSkipPrepacked);
}

void convert(const Parts& parts, DType dtype) {
  require(is_floating(dtype), "convert", "dtype must be floating, got ", dtype);
  Replacements converted;
  std::vector<Tensor> before;
  const auto convert_one = [&](const std::string&, Tensor& parameter) {
    if (parameter.dtype() == dtype || !is_floating(parameter.dtype())) return;
    converted.add(parameter, [&](const Tensor& p) { return p.to(dtype); });
    before.push_back(parameter);
  };
  parts.for_each(convert_one, refuse_prepacked);
  converted.replace_all();
  for (const Tensor& variable : before) mark_replaced(variable);
  for (Buffer* const buffer : parts.buffers) buffer->convert(dtype);
}

void clone_parameters(const Parts& parts) {
  Replacements cloned;
  const auto replace = [&](const std::string&, Tensor& parameter) {
    cloned.add(parameter, [](const Tensor& p) { return p.clone(); });
  };
  parts.for_each(replace, kSkipPrepacked);  // prepacked weights never change
  cloned.replace_all();
}

void mark_replaced(const Tensor& variable) {
  if (variable.grad_slot()) variable.grad_slot()->is_replaced = true;
}

}  // namespace tessera::nn::detail
