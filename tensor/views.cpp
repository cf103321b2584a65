// The views of tensor.h: each is arithmetic on shape, strides and offset.
//
// Their gradients are views too. A view that only reorders passes on the gradient reordered back; a
// view of a part adds its gradient to the same part of the whole gradient, selected by the same
// view.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

Tensor Tensor::view(const Shape& shape, const Strides& strides, index_t offset) const {
  Tensor result = detach();
  result.shape_ = shape;
  result.strides_ = strides;
  result.count_ = element_count("view", shape);
  result.offset_ = result.count_ > 0 ? offset : 0;  // no element: stay inside the storage
  return result;
}

namespace {

/// The backward of a view of all elements of a tensor of `shape`, in the same order.
auto reshaped_back(const Shape& shape) {
  return [shape](const Tensor& dy, Gradients& dx) { dx.add(0, dy.reshape(shape)); };
}

}  // namespace

Tensor Tensor::transpose(index_t axis_a, index_t axis_b) const {
  check_defined("transpose");
  const index_t a = normalize_axis("transpose", axis_a, rank());
  const index_t b = normalize_axis("transpose", axis_b, rank());
  Tensor result = detach();
  std::swap(result.shape_[a], result.shape_[b]);
  std::swap(result.strides_[a], result.strides_[b]);
  return recorded("transpose", *this, result,
                  [a, b](const Tensor& dy, Gradients& dx) { dx.add(0, dy.transpose(a, b)); });
}

Tensor Tensor::permute(const Axes& axes) const {
  check_defined("permute");
  require(axes.size() == rank(), "permute", "axes must name each axis of shape ", shape_,
          " once, got ", axes);
  normalize_axes("permute", axes, rank());  // refuses an axis named twice
  Tensor result = detach();
  Axes inverse = axes;
  for (index_t i = 0; i < rank(); ++i) {
    const index_t from = normalize_axis("permute", axes[i], rank());
    result.shape_[i] = shape_[from];
    result.strides_[i] = strides_[from];
    inverse[from] = i;
  }
  return recorded("permute", *this, result,
                  [inverse](const Tensor& dy, Gradients& dx) { dx.add(0, dy.permute(inverse)); });
}

Tensor Tensor::slice(index_t axis, std::optional<index_t> start, std::optional<index_t> stop,
                     index_t step) const {
  check_defined("slice");
  require(step != 0, "slice", "step must not be 0");
  const index_t a = normalize_axis("slice", axis, rank());
  const index_t n = shape_[a];
  // Python's rules: a bound counts from the end if negative, then is clamped into [0, n] for a
  // forward walk and into [-1, n - 1] for a backward one.
  const index_t low = step > 0 ? 0 : -1;
  const index_t high = step > 0 ? n : n - 1;
  const auto clamp = [&](std::optional<index_t> bound, index_t absent) {
    if (!bound) return absent;
    return std::clamp(*bound < 0 ? *bound + n : *bound, low, high);
  };
  const index_t first = clamp(start, step > 0 ? low : high);
  const index_t last = clamp(stop, step > 0 ? high : low);
  const index_t distance = step > 0 ? last - first : first - last;
  // Not (distance + stride - 1) / stride, because a step near the limits of int64 would overflow.
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step)
                                        : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  const index_t count =
      distance <= 0 ? 0
                    : static_cast<index_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  Shape shape = shape_;
  Strides strides = strides_;
  shape[a] = count;
  strides[a] = count > 1 ? strides_[a] * step : strides_[a];
  return recorded("slice", *this, view(shape, strides, offset_ + first * strides_[a]),
                  [a, start, stop, step](const Tensor& dy, Gradients& dx) {
                    add_in_place(dx.buffer(0).slice(a, start, stop, step), dy);
                  });
}

Tensor Tensor::select(index_t axis, index_t index) const {
  check_defined("select");
  const index_t a = normalize_axis("select", axis, rank());
  require(-shape_[a] <= index && index < shape_[a], "select", "index must be in [", -shape_[a],
          ", ", shape_[a], ") for axis ", axis, " of shape ", shape_, ", got ", index);
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(a);
  strides.erase(a);
  const index_t from_start = index < 0 ? index + shape_[a] : index;
  return recorded("select", *this, view(shape, strides, offset_ + from_start * strides_[a]),
                  [a, index](const Tensor& dy, Gradients& dx) {
                    add_in_place(dx.buffer(0).select(a, index), dy);
                  });
}

Tensor Tensor::expand(const Shape& shape) const {
  check_defined("expand");
  const index_t lead = shape.size() - rank();
  require(lead >= 0, "expand", "shape must have at least the ", rank(), " axes of ", shape_,
          ", got ", shape);
  Shape target = shape;
  Strides strides = Strides::filled(shape.size(), 0);
  for (index_t i = 0; i < rank(); ++i) {
    if (target[lead + i] == -1) target[lead + i] = shape_[i];
    require(target[lead + i] == shape_[i] || shape_[i] == 1, "expand", "shape must be one that ",
            shape_, " broadcasts to, got ", shape);
    if (target[lead + i] == shape_[i]) strides[lead + i] = strides_[i];
  }
  element_count("expand", target);  // refuses -1 on a new axis, and overflow
  return recorded("expand", *this, view(target, strides, offset_),
                  [](const Tensor& dy, Gradients& dx) { dx.add(0, dy); });
}

Tensor Tensor::squeeze(index_t axis) const {
  check_defined("squeeze");
  const index_t a = normalize_axis("squeeze", axis, rank());
  require(shape_[a] == 1, "squeeze", "axis ", axis, " must have size 1, got ", shape_[a],
          " in shape ", shape_);
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(a);
  strides.erase(a);
  return recorded("squeeze", *this, view(shape, strides, offset_), reshaped_back(shape_));
}

Tensor Tensor::squeeze() const {
  check_defined("squeeze");
  Tensor result = *this;
  for (index_t i = rank() - 1; i >= 0; --i) {
    if (shape_[i] == 1) result = result.squeeze(i);
  }
  return result;
}

Tensor Tensor::unsqueeze(index_t axis) const {
  check_defined("unsqueeze");
  const index_t a = normalize_axis("unsqueeze", axis, rank() + 1);
  Shape shape = shape_;
  Strides strides = strides_;
  strides.insert(a, a < rank() ? strides_[a] * shape_[a] : 1);
  shape.insert(a, 1);
  return recorded("unsqueeze", *this, view(shape, strides, offset_), reshaped_back(shape_));
}

namespace {

/// `wanted` with its -1, if any, replaced so that it has `count` elements.
Shape resolve_shape(const char* op, const Shape& wanted, const Shape& from, index_t count) {
  Shape shape = wanted;
  index_t unknown = -1;
  for (index_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != -1) continue;
    require(unknown < 0, op, "at most one size must be -1, got shape ", wanted);
    unknown = i;
    shape[i] = 1;
  }
  const index_t known = element_count(op, shape);
  if (unknown >= 0) {
    require(known > 0 && count % known == 0, op, "shape must fit the ", count,
            " elements of shape ", from, ", got ", wanted);
    shape[unknown] = count / known;
  } else {
    require(known == count, op, "shape must have the ", count, " elements of shape ", from,
            ", got ", known, " of ", wanted);
  }
  return shape;
}

}  // namespace

/// The strides with which the same memory reads as `shape`, if they exist: each new axis of size
/// over 1 must be part of a single run of axes that are contiguous with each other.
std::optional<Strides> Tensor::strides_as(const Shape& shape) const {
  Strides result = row_major_strides(shape);
  if (count_ == 0) return result;
  const auto runs = plan_loop<1>(shape_, {strides_});
  index_t run = runs.sizes.size() - 1;
  index_t left = runs.sizes[run];
  index_t step = runs.strides[0][run];
  for (index_t axis = shape.size() - 1; axis >= 0; --axis) {
    if (shape[axis] > 1 && left == 1) {
      --run;
      left = runs.sizes[run];
      step = runs.strides[0][run];
    }
    if (left % shape[axis] != 0) return std::nullopt;
    result[axis] = step;
    step *= shape[axis];
    left /= shape[axis];
  }
  return result;
}

Tensor Tensor::reshape(const Shape& shape) const {
  check_defined("reshape");
  const Shape target = resolve_shape("reshape", shape, shape_, count_);
  const auto strides = strides_as(target);
  return recorded("reshape", *this,
                  strides ? view(target, *strides, offset_)
                          : detach().clone().view(target, row_major_strides(target), 0),
                  reshaped_back(shape_));
}

Tensor Tensor::flatten(index_t first, index_t last) const {
  check_defined("flatten");
  if (rank() == 0) return reshape({1});
  const index_t a = normalize_axis("flatten", first, rank());
  const index_t b = normalize_axis("flatten", last, rank());
  require(a <= b, "flatten", "first axis must not come after the last, got ", first, " and ", last);
  Shape shape = shape_;
  for (index_t i = a; i < b; ++i) {
    shape[a] *= shape[a + 1];
    shape.erase(a + 1);
  }
  return reshape(shape);
}

Tensor Tensor::unflatten(index_t axis, const Shape& sizes) const {
  check_defined("unflatten");
  const index_t a = normalize_axis("unflatten", axis, rank());
  const Shape pieces = resolve_shape("unflatten", sizes, {shape_[a]}, shape_[a]);
  Shape shape = shape_;
  shape.erase(a);
  for (index_t i = 0; i < pieces.size(); ++i) shape.insert(a + i, pieces[i]);
  return reshape(shape);
}

Tensor Tensor::t() const {
  check_defined("t");
  require(rank() >= 2, "t", "tensor must have at least 2 axes, got shape ", shape_);
  return transpose(-2, -1);
}

std::vector<Tensor> Tensor::chunk(index_t count, index_t axis) const {
  check_defined("chunk");
  require(count > 0, "chunk", "count must be at least 1, got ", count);
  const index_t n = shape_[normalize_axis("chunk", axis, rank())];
  const index_t piece = std::max<index_t>(n / count + (n % count != 0 ? 1 : 0), 1);
  std::vector<Tensor> pieces;
  for (index_t start = 0; start == 0 || start < n; start += piece) {
    pieces.push_back(slice(axis, start, std::min(start + piece, n)));
  }
  return pieces;
}

namespace {

std::string list_text(const std::vector<index_t>& values) {
  std::string text;
  for (index_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

}  // namespace

std::vector<Tensor> Tensor::split(const std::vector<index_t>& sizes, index_t axis) const {
  check_defined("split");
  const index_t total = shape_[normalize_axis("split", axis, rank())];
  const auto check = [&](bool fits) {
    if (fits) return;
    fail("split", "sizes must be at least 0 and add up to axis ", axis, " of shape ", shape_,
         ", got ", list_text(sizes));
  };
  std::vector<Tensor> pieces;
  index_t start = 0;
  for (index_t n : sizes) {
    check(0 <= n && n <= total - start);
    pieces.push_back(slice(axis, start, start + n));
    start += n;
  }
  check(start == total);
  return pieces;
}

std::vector<Tensor> Tensor::unbind(index_t axis) const {
  check_defined("unbind");
  const index_t a = normalize_axis("unbind", axis, rank());
  std::vector<Tensor> pieces;
  for (index_t i = 0; i < shape_[a]; ++i) pieces.push_back(select(a, i));
  return pieces;
}

Tensor Tensor::diagonal(index_t offset, index_t axis_a, index_t axis_b) const {
  check_defined("diagonal");
  const index_t a = normalize_axis("diagonal", axis_a, rank());
  const index_t b = normalize_axis("diagonal", axis_b, rank());
  require(a != b, "diagonal", "axes must be different, got ", axis_a, " and ", axis_b);
  const index_t row = offset < 0 ? -std::max(offset, -shape_[a]) : 0;
  const index_t column = offset > 0 ? std::min(offset, shape_[b]) : 0;
  const index_t n = std::min(shape_[a] - row, shape_[b] - column);
  Shape shape = shape_;
  Strides strides = strides_;
  for (index_t axis : {std::max(a, b), std::min(a, b)}) {
    shape.erase(axis);
    strides.erase(axis);
  }
  shape.push_back(n);
  strides.push_back(strides_[a] + strides_[b]);
  return recorded("diagonal", *this,
                  view(shape, strides, offset_ + row * strides_[a] + column * strides_[b]),
                  [offset, a, b](const Tensor& dy, Gradients& dx) {
                    add_in_place(dx.buffer(0).diagonal(offset, a, b), dy);
                  });
}

Tensor Tensor::toeplitz(index_t rows, index_t columns) const {
  check_defined("toeplitz");
  require(rank() >= 1 && rows >= 0 && columns >= 0, "toeplitz",
          "x must have an axis, and rows and columns must be at least 0, got shape ", shape_, ", ",
          rows, " rows and ", columns, " columns");
  const bool is_empty = rows == 0 && columns == 0 && shape_.back() == 0;
  require(is_empty || shape_.back() - rows + 1 == columns, "toeplitz",
          "last axis must have rows + columns - 1 elements, got shape ", shape_, ", ", rows,
          " rows and ", columns, " columns");
  Shape shape = shape_;
  Strides strides = strides_;
  shape.back() = rows;
  strides.back() = -strides_.back();
  shape.push_back(columns);
  strides.push_back(strides_.back());
  // Each diagonal sums the rows in their order.
  const auto backward = [rows, columns](const Tensor& dy, Gradients& dx) {
    if (columns == 0) return;
    const Tensor total = dx.buffer(0);
    for (index_t i = 0; i < rows; ++i) {
      add_in_place(total.slice(-1, rows - 1 - i, rows - 1 - i + columns), dy.select(-2, i));
    }
  };
  return recorded("toeplitz", *this, view(shape, strides, offset_ + (rows - 1) * strides_.back()),
                  backward);
}

}  // namespace tessera
