#include "tessera/tensor/ops/compare.h"

#include <cmath>
#include <cstdint>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

namespace {

// Truth values have no gradient, so the ops that give them read their operands detached.

using detail::map_elements;
using detail::map_rows;
using detail::Row;
using kernels::CompareOp;

template <class T>
bool holds(CompareOp kind, T a, T b) {
  switch (kind) {
    case CompareOp::kEq:
      return a == b;
    case CompareOp::kNe:
      return a != b;
    case CompareOp::kLt:
      return a < b;
    case CompareOp::kLe:
      return a <= b;
    case CompareOp::kGt:
      return a > b;
    case CompareOp::kGe:
      break;
  }
  return a >= b;
}

/// `kind` of two tensors of one dtype.
Tensor compare(const char* op, CompareOp kind, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  return visit_dtype(a.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_floating_point_v<T>) {
      const auto kernel = kernels::table<T>().compare;
      return map_rows<bool, T, T>(shape, {a, b}, 1, [&](bool* out, index_t n, Row<T> x, Row<T> y) {
        kernel(kind, n, x.first, x.step, y.first, y.step, out);
      });
    } else {
      return map_elements<bool, T, T>(shape, {a, b}, 1,
                                      [&](T x, T y) { return holds(kind, x, y); });
    }
  });
}

/// The operand detached, as `dtype`.
Tensor constant(const Operand& x, DType dtype) {
  return x.tensor() != nullptr ? x.tensor()->detach().to(dtype) : x.to(dtype);
}

Tensor promoted(const char* op, CompareOp kind, const Operand& a, const Operand& b) {
  const DType dtype = promote(op, a, b);
  const Tensor x = constant(a, dtype), y = constant(b, dtype);
  // The bytes of numbers do not count.
  Recording recording(op,
                      {a.tensor() != nullptr ? &x : nullptr, b.tensor() != nullptr ? &y : nullptr});
  return recording.finish(compare(op, kind, x, y), [] { return Backward(); });
}

}  // namespace

Tensor eq(const Operand& a, const Operand& b) {
  return promoted("eq", CompareOp::kEq, a, b);
}

Tensor ne(const Operand& a, const Operand& b) {
  return promoted("ne", CompareOp::kNe, a, b);
}

Tensor lt(const Operand& a, const Operand& b) {
  return promoted("lt", CompareOp::kLt, a, b);
}

Tensor le(const Operand& a, const Operand& b) {
  return promoted("le", CompareOp::kLe, a, b);
}

Tensor gt(const Operand& a, const Operand& b) {
  return promoted("gt", CompareOp::kGt, a, b);
}

Tensor ge(const Operand& a, const Operand& b) {
  return promoted("ge", CompareOp::kGe, a, b);
}

namespace {

template <class F>
Tensor logical(const char* op, const Tensor& a, const Tensor& b, const F& f) {
  detail::require_defined(op, a);
  detail::require_defined(op, b);
  return map_elements<bool, bool, bool>(broadcast_shapes(op, a.shape(), b.shape()),
                                        {a.detach().to(kBool), b.detach().to(kBool)}, 1, f);
}

/// Whether an element equal to `wanted` occurs among the reduced elements.
Tensor occurs(const char* op, const Tensor& x, const Axes& axes, bool keepdim, bool wanted) {
  detail::require_defined(op, x);
  const Axes reduced = normalize_axes(op, axes, x.rank());
  return detail::reduce_rows<bool, bool>(detail::merge_last(x.detach().to(kBool), reduced),
                                         reduced_shape(x.shape(), reduced, keepdim),
                                         [wanted](Row<bool> row, index_t n) {
                                           index_t i = 0;
                                           while (i < n && row[i] != wanted) ++i;
                                           return i < n;
                                         });
}

/// `f` of each element of a floating tensor; `otherwise` for other dtypes.
template <class F>
Tensor floating_test(const char* op, const Tensor& x, bool otherwise, const F& f) {
  detail::require_defined(op, x);
  return visit_dtype(x.dtype(), [&](auto t) {
    using T = decltype(t);
    return map_elements<bool, T>(x.shape(), {x.detach()}, 1, [&](T v) {
      if constexpr (std::is_floating_point_v<T>) {
        return f(v);
      } else {
        return otherwise;
      }
    });
  });
}

}  // namespace

Tensor logical_not(const Tensor& x) {
  detail::require_defined("logical_not", x);
  return map_elements<bool, bool>(x.shape(), {x.detach().to(kBool)}, 1, [](bool v) { return !v; });
}

Tensor logical_and(const Tensor& a, const Tensor& b) {
  return logical("logical_and", a, b, [](bool x, bool y) { return x && y; });
}

Tensor logical_or(const Tensor& a, const Tensor& b) {
  return logical("logical_or", a, b, [](bool x, bool y) { return x || y; });
}

Tensor any(const Tensor& x, const Axes& axes, bool keepdim) {
  return occurs("any", x, axes, keepdim, true);
}

Tensor all(const Tensor& x, const Axes& axes, bool keepdim) {
  return logical_not(occurs("all", x, axes, keepdim, false));
}

Tensor isnan(const Tensor& x) {
  return floating_test("isnan", x, false, [](auto v) { return std::isnan(v); });
}

Tensor isinf(const Tensor& x) {
  return floating_test("isinf", x, false, [](auto v) { return std::isinf(v); });
}

Tensor isfinite(const Tensor& x) {
  return floating_test("isfinite", x, true, [](auto v) { return std::isfinite(v); });
}

namespace {

/// isclose of whole numbers: they are subtracted exactly, then the difference is rounded to double.
Tensor isclose_integers(const Tensor& a, const Tensor& b, double rtol, double atol) {
  return map_elements<bool, index_t, index_t>(
      broadcast_shapes("isclose", a.shape(), b.shape()), {a, b}, 2, [&](index_t x, index_t y) {
        const auto p = static_cast<std::uint64_t>(x), q = static_cast<std::uint64_t>(y);
        const auto difference = static_cast<double>(x > y ? p - q : q - p);
        return difference <= atol + rtol * std::fabs(static_cast<double>(y));
      });
}

}  // namespace

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  detail::require_defined("isclose", a);
  detail::require_defined("isclose", b);
  if (!is_floating(a.dtype()) && !is_floating(b.dtype())) {
    return isclose_integers(a.to(kInt64), b.to(kInt64), rtol, atol);
  }
  return map_elements<bool, double, double>(broadcast_shapes("isclose", a.shape(), b.shape()),
                                            {a.detach().to(kFloat64), b.detach().to(kFloat64)}, 2,
                                            [&](double x, double y) {
                                              if (std::isnan(x) && std::isnan(y)) return equal_nan;
                                              if (!std::isfinite(y)) return x == y;
                                              return std::fabs(x - y) <= atol + rtol * std::fabs(y);
                                            });
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}

bool array_equal(const Tensor& a, const Tensor& b) {
  detail::require_defined("array_equal", a);
  detail::require_defined("array_equal", b);
  return a.shape() == b.shape() && all(eq(a, b)).item<bool>();
}

namespace {

/// `a` and `b` have one dtype.
Tensor select_elements(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  require(condition.dtype() == kBool, op, "the condition must be bool, got ", condition.dtype());
  const Shape shape =
      broadcast_shapes(op, condition.shape(), broadcast_shapes(op, a.shape(), b.shape()));
  return visit_dtype(a.dtype(), [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_floating_point_v<T>) {
      const auto kernel = kernels::table<T>().where;
      return map_rows<T, bool, T, T>(
          shape, {condition, a, b}, 1, [&](T* out, index_t n, Row<bool> mask, Row<T> x, Row<T> y) {
            kernel(n, mask.first, mask.step, x.first, x.step, y.first, y.step, out);
          });
    } else {
      return map_elements<T, bool, T, T>(shape, {condition, a, b}, 1,
                                         [](bool c, T x, T y) { return c ? x : y; });
    }
  });
}

Tensor select(const char* op, const Tensor& condition, const Operand& a, const Operand& b,
              DType dtype) {
  Recording recording(op, {a.tensor(), b.tensor()});
  return recording.finish(select_elements(op, condition, a.to(dtype), b.to(dtype)), [&] {
    return [condition = recording.save(condition)](const Tensor& dy, Gradients& dx) {
      if (dx.needs_gradient(0)) dx.add(0, where(condition, dy, 0));
      if (dx.needs_gradient(1)) dx.add(1, where(condition, 0, dy));
    };
  });
}

}  // namespace

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  detail::require_defined("where", condition);
  return select("where", condition, a, b, promote("where", a, b));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  for (const Tensor* each : {&x, &mask}) detail::require_defined("masked_fill", *each);
  const bool fits = is_floating(x.dtype()) || value.dtype_with(x.dtype()) == x.dtype();
  require(fits, "masked_fill", "value must fit dtype ", x.dtype(), ", got ", value.value());
  return select("masked_fill", mask, value, x, x.dtype());
}

}  // namespace tessera
