// A C++ number as an argument: `2 * x + 1`, `x.fill(0)`.
#pragma once

#include <concepts>
#include <limits>

#include "tessera/tensor/dtype.h"
#include "tessera/tensor/error.h"

namespace tessera {

class Tensor;

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

}  // namespace tessera
