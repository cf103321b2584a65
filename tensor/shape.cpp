#include "tessera/tensor/shape.h"

#include <ostream>
#include <string>

#include "tessera/tensor/error.h"

namespace tessera {

Dims::Dims(std::span<const index_t> values) {
  require(std::ssize(values) <= kMaxRank, "shape", "number of axes must be at most ", kMaxRank,
          ", got ", values.size());
  rank_ = std::ssize(values);
  std::copy(values.begin(), values.end(), values_.begin());
}

Dims Dims::filled(index_t rank, index_t value) {
  Dims dims;
  for (index_t i = 0; i < rank; ++i) dims.push_back(value);
  return dims;
}

void Dims::insert(index_t position, index_t value) {
  require(rank_ < kMaxRank, "shape", "number of axes must be at most ", kMaxRank, ", got ",
          rank_ + 1);
  auto* first = values_.data() + position;
  std::copy_backward(first, values_.data() + rank_, values_.data() + rank_ + 1);
  *first = value;
  ++rank_;
}

void Dims::erase(index_t position) {
  auto* first = values_.data() + position;
  std::copy(first + 1, values_.data() + rank_, first);
  --rank_;
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) {
  out << '(';
  for (index_t i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << std::to_string(dims[i]);
  return out << (dims.size() == 1 ? ",)" : ")");
}

index_t element_count(const char* op, const Shape& shape) {
  // A zero makes the count zero, but the other sizes must still multiply without overflow, because
  // strides are products of them.
  index_t count = 1;
  bool has_zero = false;
  for (index_t size : shape) {
    require(size >= 0, op, "sizes must be at least 0, got shape ", shape);
    has_zero = has_zero || size == 0;
    const bool overflows = __builtin_mul_overflow(count, std::max<index_t>(size, 1), &count);
    require(!overflows, op, "number of elements must fit int64, got shape ", shape);
  }
  return has_zero ? 0 : count;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 1);
  for (index_t i = shape.size() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * std::max<index_t>(shape[i + 1], 1);
  }
  return strides;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const index_t lead = longer.size() - shorter.size();
  Shape result = longer;
  for (index_t i = 0; i < shorter.size(); ++i) {
    const index_t p = longer[lead + i];
    const index_t q = shorter[i];
    require(p == q || p == 1 || q == 1, op, "shapes must broadcast, got ", a, " and ", b);
    result[lead + i] = p == 1 ? q : p;
  }
  return result;
}

bool broadcasts_to(const Shape& shape, const Shape& target) {
  const index_t lead = target.size() - shape.size();
  bool fits = lead >= 0;
  for (index_t i = 0; i < shape.size() && fits; ++i) {
    fits = shape[i] == 1 || shape[i] == target[lead + i];
  }
  return fits;
}

index_t normalize_axis(const char* op, index_t axis, index_t rank) {
  require(-rank <= axis && axis < rank, op, "axis must be in [", -rank, ", ", rank, ") for ", rank,
          " axes, got ", axis);
  return axis < 0 ? axis + rank : axis;
}

Axes normalize_axes(const char* op, const Axes& axes, index_t rank) {
  std::array<bool, static_cast<std::size_t>(kMaxRank)> named{};
  for (index_t axis : axes) {
    bool& seen = named[static_cast<std::size_t>(normalize_axis(op, axis, rank))];
    require(!seen, op, "axes must be different, got ", axis, " twice in ", axes);
    seen = true;
  }
  Axes sorted;
  for (index_t i = 0; i < rank; ++i) {
    if (axes.empty() || named[static_cast<std::size_t>(i)]) sorted.push_back(i);
  }
  return sorted;
}

Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim) {
  Shape result = shape;
  for (index_t i = axes.size() - 1; i >= 0; --i) {
    if (keepdim) {
      result[axes[i]] = 1;
    } else {
      result.erase(axes[i]);
    }
  }
  return result;
}

}  // namespace tessera
