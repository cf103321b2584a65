// The arguments of element-wise ops: `2 * x + 1`, `maximum(x, 0)`, `where(mask, x, y)`.
#pragma once

#include <concepts>
#include <limits>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace tessera {

/// A C++ number in an op. A number never changes the dtype of a floating tensor. With an int64 or
/// bool tensor, the number counts as bool, int64 or float32, and the dtypes are promoted: an int64
/// tensor + 2 is int64, and an int64 tensor + 0.5 is float32.
/// **Errors**: an unsigned number above the greatest int64.
/// **Source**: torch.result_type.
class Scalar {
 public:
  template <class T>
  requires std::integral<T> || std::floating_point<T> Scalar(T value)
      : real_(static_cast<double>(value)),
        integer_(std::integral<T> ? static_cast<index_t>(value) : 0),
        kind_(std::same_as<T, bool> ? kBool
              : std::integral<T>    ? kInt64
                                    : kFloat32) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(index_t)) {
      constexpr auto kMost = static_cast<T>(std::numeric_limits<index_t>::max());
      require(value <= kMost, "Scalar", "value must fit int64, got ", value);
    }
  }

  /// The value as a double.
  double value() const { return real_; }
  /// Whether the number is an integer or a bool.
  bool is_integral() const { return kind_ != kFloat32; }
  /// The exact value of an integer or a bool.
  index_t integer() const { return integer_; }
  /// kBool, kInt64 or kFloat32.
  DType dtype() const { return kind_; }

  /// The dtype of a result computed from this number and a tensor of `dtype`.
  DType dtype_with(DType dtype) const { return is_floating(dtype) ? dtype : promote(dtype, kind_); }

  /// The number as a tensor of shape ().
  Tensor to_tensor(DType dtype) const;

 private:
  double real_;
  index_t integer_;
  DType kind_;
};

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
