// Element types and how they mix.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

/// The element types, in promotion order: the result of an op on two types has the later one.
/// So int64 with float32 gives float32, as in PyTorch.
enum class DType : std::uint8_t { kBool, kInt64, kFloat32, kFloat64 };

inline constexpr DType kBool = DType::kBool;
inline constexpr DType kInt64 = DType::kInt64;
inline constexpr DType kFloat32 = DType::kFloat32;
inline constexpr DType kFloat64 = DType::kFloat64;

/// The C++ types of elements. Templates over element types have this constraint, so `x.data<int>()`
/// is an error of the compiler, not of the linker.
template <class T>
concept ElementType = std::is_same_v<T, bool> || std::is_same_v<T, index_t> ||
    std::is_same_v<T, float> || std::is_same_v<T, double>;

namespace detail {

template <class T>
concept Number = std::is_arithmetic_v<T>;

}  // namespace detail

/// The DType of a C++ element type: `dtype_of<float>` is kFloat32.
template <ElementType T>
inline constexpr DType dtype_of = [] {
  if constexpr (std::is_same_v<T, bool>) {
    return kBool;
  } else if constexpr (std::is_same_v<T, index_t>) {
    return kInt64;
  } else if constexpr (std::is_same_v<T, float>) {
    return kFloat32;
  } else {
    return kFloat64;
  }
}();

/// The dtype of a result computed from elements of two dtypes: the later one.
/// **Source**: torch.promote_types.
constexpr DType promote(DType a, DType b) {
  return a < b ? b : a;
}

/// Whether elements are float32 or float64.
constexpr bool is_floating(DType dtype) {
  return dtype >= kFloat32;
}

/// The dtype in which functions of real numbers, such as exp, are computed for elements of `dtype`:
/// a floating dtype itself, float32 for bool and int64.
constexpr DType floating(DType dtype) {
  return is_floating(dtype) ? dtype : kFloat32;
}

/// "bool", "int64", "float32" or "float64".
const char* name(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

/// Returns `body(T{})`, where T is the C++ type of `dtype`.
template <class Body>
constexpr decltype(auto) visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case kBool:
      return body(bool{});
    case kInt64:
      return body(index_t{});
    case kFloat32:
      return body(float{});
    case kFloat64:
      return body(double{});
  }
  __builtin_unreachable();
}

/// Returns `body(T{})`, where T is the C++ type of floating(dtype): float or double.
template <class Body>
constexpr decltype(auto) visit_floating(DType dtype, Body&& body) {
  switch (dtype) {
    case kBool:
    case kInt64:
    case kFloat32:
      return body(float{});
    case kFloat64:
      return body(double{});
  }
  __builtin_unreachable();
}

/// The size of one element in bytes.
constexpr index_t item_size(DType dtype) {
  return visit_dtype(dtype, [](auto kind) -> index_t { return sizeof(kind); });
}

}  // namespace tessera
