// Numbers next to a tensor: `2 * x + 1`, `where(mask, x, 0)`.
#pragma once

#include <concepts>
#include <limits>

#include "tensor/error.h"
#include "tensor/tensor.h"

namespace tessera {

/// A C++ number as an operand. It never changes the dtype of a floating tensor; beside an integer
/// or bool tensor it counts by its kind: `int64 + 2` is int64, `int64 + 0.5` is float32.
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

  double value() const { return real_; }
  bool is_integral() const { return kind_ != kFloat32; }
  /// The value of an integral scalar, exactly.
  index_t integer() const { return integer_; }

  /// The dtype of a result that mixes this number with a tensor of `dtype`.
  DType dtype_beside(DType dtype) const {
    return is_floating(dtype) ? dtype : promote(dtype, kind_);
  }

  /// As a tensor of shape ().
  Tensor to_tensor(DType dtype) const {
    Tensor result = Tensor::empty({}, is_integral() ? kInt64 : kFloat64);
    if (is_integral()) {
      *result.mutable_data<index_t>() = integer_;
    } else {
      *result.mutable_data<double>() = real_;
    }
    return result.to(dtype);
  }

 private:
  double real_;
  index_t integer_;
  DType kind_;
};

}  // namespace tessera
