#include "nn/module.h"

#include <algorithm>

#include "tensor/error.h"
#include "tensor/gradient.h"

namespace tessera::nn::detail {

namespace {

bool is_same_variable(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.grad_slot() == b.grad_slot() && a.dtype() == b.dtype() &&
         a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace

void Replacements::replace(Tensor& parameter, const std::function<Tensor(const Tensor&)>& make) {
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

void check_module_dtype(DType dtype) {
  require(is_floating(dtype), "convert", "dtype must be floating, got ", dtype);
}

void mark_replaced(const Tensor& variable) {
  if (variable.grad_slot()) variable.grad_slot()->is_replaced = true;
}

}  // namespace tessera::nn::detail
