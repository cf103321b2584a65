// The arguments of element-wise ops: `2 * x + 1`, `maximum(x, 0)`, `where(mask, x, y)`.
#pragma once

#include <concepts>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// A tensor or a number: an argument of an element-wise op. An Operand only refers to the tensor,
/// so it must not outlive the call.
class Operand {
 public:
  Operand(const Tensor& x) : tensor_(&x) {}
  /// A type that refers to a tensor, as Saved does.
  template <class T>
  requires requires(const T& x) { x.operator const Tensor&(); }
  Operand(const T& x) : tensor_(&static_cast<const Tensor&>(x)) {}
  template <std::convertible_to<Scalar> T>
  Operand(T number) : number_(number) {}

  /// Null for a number.
  const Tensor* tensor() const { return tensor_; }
  /// The number; 0 for a tensor.
  const Scalar& number() const { return number_; }
  /// The dtype of the tensor or of the number.
  DType dtype() const { return tensor_ != nullptr ? tensor_->dtype() : number_.dtype(); }
  /// The tensor converted to `dtype`, or the number as a tensor of shape ().
  Tensor to(DType dtype) const {
    return tensor_ != nullptr ? tensor_->to(dtype) : number_.to_tensor(dtype);
  }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar number_ = 0;
};

/// The dtype of a result computed from a and b: the promoted dtype of two tensors; for a tensor and
/// a number, see Scalar. **Errors**: an undefined tensor. **Source**: torch.result_type.
DType promote(const char* op, const Operand& a, const Operand& b);

}  // namespace tessera
