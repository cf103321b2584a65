#include "tessera/tensor/ops/rearrange.h"

#include <algorithm>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

Tensor flip(const Tensor& x, const Axes& axes) {
  detail::require_defined("flip", x);
  Tensor result = x;
  for (index_t axis : normalize_axes("flip", axes, x.rank())) {
    result = result.slice(axis, {}, {}, -1);
  }
  return result;
}

// ---- roll ----

namespace {

/// roll by `shift` along `axis` (normalized).
Tensor roll_axis(const Tensor& x, index_t shift, index_t axis) {
  Recording op("roll", {&x});
  const index_t n = x.shape()[axis];
  const index_t s = n == 0 ? 0 : (shift % n + n) % n;
  const Tensor y = Tensor::empty(x.shape(), x.dtype());
  y.slice(axis, s, n).copy_from(x.slice(axis, 0, n - s));
  y.slice(axis, 0, s).copy_from(x.slice(axis, n - s, n));
  return op.finish(y, [&] {
    return [s, axis](const Tensor& dy, Gradients& dx) { dx.add(0, roll_axis(dy, -s, axis)); };
  });
}

}  // namespace

Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes) {
  detail::require_defined("roll", x);
  if (axes.empty()) {
    require(shifts.size() == 1, "roll", "shifts must be 1 number if there are no axes, got ",
            shifts);
    return roll_axis(x.reshape({x.count()}), shifts[0], 0).reshape(x.shape());
  }
  require(shifts.size() == axes.size(), "roll", "shifts and axes must have the same size, got ",
          shifts, " and ", axes);
  Tensor result = x;
  for (index_t i = 0; i < axes.size(); ++i) {
    result = roll_axis(result, shifts[i], normalize_axis("roll", axes[i], x.rank()));
  }
  return result;
}

// ---- pad ----

namespace {

/// The elements that padding keeps: of the result `t` with sign = 1 (positive pads are removed), of
/// the argument `t` with sign = -1 (what negative pads cut off is removed).
Tensor kept(Tensor t, const std::vector<index_t>& pads, index_t sign) {
  for (std::size_t i = 0; i < pads.size(); i += 2) {
    const index_t axis = t.rank() - 1 - static_cast<index_t>(i / 2);
    const index_t before = std::max<index_t>(sign * pads[i], 0);
    const index_t after = std::max<index_t>(sign * pads[i + 1], 0);
    t = t.slice(axis, before, t.shape()[axis] - after);
  }
  return t;
}

Shape padded_shape(const Tensor& x, const std::vector<index_t>& pads) {
  require(pads.size() % 2 == 0, "pad", "number of pads must be even, got ", pads.size());
  require(std::ssize(pads) <= 2 * x.rank(), "pad", "number of pads must be at most ", 2 * x.rank(),
          " for shape ", x.shape(), ", got ", pads.size());
  Shape shape = x.shape();
  for (std::size_t i = 0; i < pads.size(); i += 2) {
    const index_t axis = x.rank() - 1 - static_cast<index_t>(i / 2);
    const index_t n = x.shape()[axis];
    const index_t before = pads[i];
    const index_t after = pads[i + 1];
    const bool fits = before >= -n && after >= -n &&
                      n + std::min<index_t>(before, 0) + std::min<index_t>(after, 0) >= 0 &&
                      !__builtin_add_overflow(n, std::min(before, after), &shape[axis]) &&
                      !__builtin_add_overflow(shape[axis], std::max(before, after), &shape[axis]);
    require(fits, "pad", "pads must fit axis ", axis, " of shape ", x.shape(), ", got ", before,
            " and ", after);
  }
  return shape;
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<index_t>& pads, Scalar value) {
  detail::require_defined("pad", x);
  const Shape shape = padded_shape(x, pads);
  require(is_floating(x.dtype()) || value.value() == 0 || value.dtype_with(x.dtype()) == x.dtype(),
          "pad", "value must fit dtype ", x.dtype(), ", got ", value.value());
  Recording op("pad", {&x});
  Tensor y = Tensor::empty(shape, x.dtype());
  y.copy_from(value.to_tensor(x.dtype()));
  kept(y, pads, 1).copy_from(kept(x, pads, -1));
  return op.finish(y, [&] {
    std::vector<index_t> back = pads;
    for (index_t& n : back) n = -n;
    return [back](const Tensor& dy, Gradients& dx) { dx.add(0, pad(dy, back)); };
  });
}

// ---- repeat ----

namespace {

/// x with `axis` (normalized) `times` as long: repeated as a whole, or element by element.
Tensor repeat_axis(const char* op, const Tensor& x, index_t axis, index_t times, bool interleaved) {
  index_t outer = 1;
  index_t inner = 1;
  for (index_t i = 0; i < x.rank(); ++i) {
    if (i < axis) outer *= x.shape()[i];
    if (i > axis) inner *= x.shape()[i];
  }
  const index_t n = x.shape()[axis];
  const Shape before = interleaved ? Shape{outer, n, 1, inner} : Shape{outer, 1, n, inner};
  const Shape after = interleaved ? Shape{outer, n, times, inner} : Shape{outer, times, n, inner};
  element_count(op, after);
  Shape shape = x.shape();
  shape[axis] = times * n;
  return x.reshape(before).expand(after).reshape(shape);
}

/// `result` in its own memory: it may be a view of x if nothing, or only single elements, are
/// repeated.
Tensor own(const Tensor& result, const Tensor& x) {
  const bool is_own = result.is_contiguous() && !(result.storage() == x.storage());
  return is_own ? result : result.clone();
}

}  // namespace

Tensor tile(const Tensor& x, const Dims& repeats) {
  detail::require_defined("tile", x);
  Dims times = repeats;
  while (times.size() < x.rank()) times.insert(0, 1);
  Shape shape = x.shape();
  while (shape.size() < times.size()) shape.insert(0, 1);
  for (const index_t number : times) {
    require(number >= 0, "tile", "repeats must be at least 0, got ", times);
  }
  Tensor result = x.reshape(shape);
  for (index_t axis = shape.size() - 1; axis >= 0; --axis) {
    if (times[axis] != 1) result = repeat_axis("tile", result, axis, times[axis], false);
  }
  return own(result, x);
}

Tensor repeat_interleave(const Tensor& x, index_t repeats, index_t axis) {
  detail::require_defined("repeat_interleave", x);
  const index_t a = normalize_axis("repeat_interleave", axis, x.rank());
  require(repeats >= 0, "repeat_interleave", "repeats must be at least 0, got ", repeats);
  return own(repeat_axis("repeat_interleave", x, a, repeats, true), x);
}

// ---- concat, stack ----

namespace {

void check_parts(const char* op, const std::vector<Tensor>& parts) {
  require(!parts.empty(), op, "list must have at least 1 tensor, got none");
  for (const Tensor& part : parts)
    require(part.defined(), op, "tensors must be defined, got an undefined one");
}

}  // namespace

Tensor concat(const std::vector<Tensor>& parts, index_t axis) {
  check_parts("concat", parts);
  Shape shape = parts.front().shape();
  DType dtype = parts.front().dtype();
  const index_t a = normalize_axis("concat", axis, shape.size());
  shape[a] = 0;
  for (const Tensor& part : parts) {
    Shape fitting = shape;
    if (part.rank() == shape.size()) fitting[a] = part.shape()[a];
    require(part.shape() == fitting, "concat", "shapes must be equal except on axis ", axis,
            ", got ", parts.front().shape(), " and ", part.shape());
    const bool overflows = __builtin_add_overflow(shape[a], part.shape()[a], &shape[a]);
    require(!overflows, "concat", "sizes of axis ", axis, " must add up to an int64");
    dtype = promote(dtype, part.dtype());
  }
  Recording op("concat", parts);
  const Tensor result = Tensor::empty(shape, dtype);
  std::vector<index_t> sizes;
  index_t start = 0;
  for (const Tensor& part : parts) {
    const index_t stop = start + part.shape()[a];
    result.slice(a, start, stop).copy_from(part);
    sizes.push_back(stop - start);
    start = stop;
  }
  return op.finish(result, [&] {
    return [sizes, a](const Tensor& dy, Gradients& dx) {
      const std::vector<Tensor> pieces = dy.split(sizes, a);
      for (std::size_t i = 0; i < pieces.size(); ++i) dx.add(i, pieces[i]);
    };
  });
}

Tensor slice_scatter(const Tensor& x, const Tensor& part, index_t axis,
                     std::optional<index_t> start, std::optional<index_t> stop) {
  const index_t a = normalize_axis("slice_scatter", axis, x.rank());
  const Tensor replaced = x.slice(a, start, stop);
  require(part.shape() == replaced.shape(), "slice_scatter", "part must have shape ",
          replaced.shape(), ", got ", part.shape());
  const Tensor before = x.slice(a, 0, start.value_or(0));
  return concat({before, part, x.slice(a, before.size(a) + part.size(a))}, a);
}

Tensor stack(const std::vector<Tensor>& parts, index_t axis) {
  check_parts("stack", parts);
  const Shape& shape = parts.front().shape();
  const index_t a = normalize_axis("stack", axis, shape.size() + 1);
  std::vector<Tensor> layers;
  for (const Tensor& part : parts) {
    require(part.shape() == shape, "stack", "shapes must be equal, got ", shape, " and ",
            part.shape());
    layers.push_back(part.unsqueeze(a));
  }
  return concat(layers, a);
}

}  // namespace tessera
