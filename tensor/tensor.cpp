#include "tessera/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera {

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  index_t bytes = 0;
  const bool overflows =
      __builtin_mul_overflow(element_count("empty", shape), item_size(dtype), &bytes);
  require(!overflows, "empty", "number of bytes must fit int64, got shape ", shape, " of ", dtype);
  try {
    return over_storage(Storage::allocate(bytes), shape, dtype);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(str_cat("out of memory: a ", dtype, " tensor of shape ", shape, " needs ",
                              bytes, " bytes"));
  }
}

Tensor Tensor::of_storage(Storage storage, const Shape& shape, DType dtype) {
  const index_t room = storage.size() / item_size(dtype);
  require(element_count("of_storage", shape) <= room, "of_storage",
          "storage must have room for shape ", shape, " of ", dtype, ", got ", storage.size(),
          " bytes");
  return over_storage(std::move(storage), shape, dtype);
}

Tensor Tensor::over_storage(Storage storage, const Shape& shape, DType dtype) {
  Tensor result;
  result.count_ = element_count("of_storage", shape);
  result.storage_ = std::move(storage);
  result.shape_ = shape;
  result.strides_ = row_major_strides(shape);
  result.dtype_ = dtype;
  return result;
}

void Tensor::fail_undefined(const char* op) {
  fail(op, "tensor must be defined, got an undefined one");
}

index_t Tensor::size(index_t axis) const {
  check_defined("size");
  return shape_[normalize_axis("size", axis, rank())];
}

bool Tensor::is_contiguous() const {
  index_t expected = 1;
  for (index_t i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != expected && count_ > 0) return false;
    expected *= shape_[i];
  }
  return true;
}

bool Tensor::is_broadcast() const {
  if (is_contiguous()) return false;
  for (index_t i = 0; i < rank(); ++i) {
    if (shape_[i] <= 1) continue;
    // A step along this axis must exceed the reach of all shorter steps.
    index_t reach = 0;
    for (index_t j = 0; j < rank(); ++j) {
      const index_t step = std::abs(strides_[j]);
      const bool is_shorter =
          step < std::abs(strides_[i]) || (step == std::abs(strides_[i]) && j < i);
      if (is_shorter) reach += (shape_[j] - 1) * step;
    }
    if (std::abs(strides_[i]) <= reach) return true;
  }
  return false;
}

void Tensor::check_dtype(const char* op, DType wanted) const {
  check_defined(op);
  require(wanted == dtype_, op, "element type must be ", dtype_, ", as in the tensor of shape ",
          shape_, ", got ", wanted);
}

void Tensor::check_unrecorded(const char* op) const {
  require(!is_recorded(*this), op, dtype_, " tensor of shape ", shape_,
          " must not require a gradient while a tape records, because reading elements is not "
          "recorded; call detach() if intended");
}

void Tensor::prepare_write(const char* op) {
  check_defined(op);
  require(
      !is_recorded(*this) || (slot_->recording == 0 && active_recorder->empty()), op,
      "tensor of shape ", shape_,
      " must not be written to after a tape has recorded it; write before that, or after backward");
  require(!is_broadcast(), op,
          "tensor must not be a broadcast view, whose elements share memory, got shape ", shape_,
          ", strides ", strides_, "; clone() it first");
  storage_.bump_version();
}

namespace {

/// The complete conversion rule of to(): C++'s, except that bool means "not zero" and that values
/// beyond int64 become its smallest value, as on x86, instead of undefined behaviour.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<To, index_t> && std::is_floating_point_v<From>) {
    constexpr From kLimit = From{9223372036854775808.0};
    const bool fits = value >= -kLimit && value < kLimit;
    return fits ? static_cast<index_t>(value) : std::numeric_limits<index_t>::min();
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_elements(const Shape& shape, const From* from, const Strides& from_strides, To* to,
                      const Strides& to_strides) {
  const auto plan = plan_loop<2>(shape, {to_strides, from_strides});
  const index_t to_step = plan.strides[0].back();
  const index_t from_step = plan.strides[1].back();
  for_each_row(plan, 1, [&](const std::array<index_t, 2>& offsets, index_t n) {
    To* out = to + offsets[0];
    const From* in = from + offsets[1];
    if (to_step == 1 && from_step == 1) {
      for (index_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
    } else {
      for (index_t i = 0; i < n; ++i) out[i * to_step] = convert<To>(in[i * from_step]);
    }
  });
}

/// Copies on all threads: page faults of fresh memory cost more than the copy.
void copy_bytes(const void* from, void* to, index_t bytes) {
  constexpr index_t kPiece = index_t{64} << 10;
  constexpr index_t kCost = 8192;
  kernels::parallel_for((bytes + kPiece - 1) / kPiece, kCost, [&](index_t begin, index_t end) {
    const index_t first = begin * kPiece;
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                static_cast<std::size_t>(std::min(end * kPiece, bytes) - first));
  });
}

}  // namespace

template <ElementType T>
T Tensor::element() const {
  check_defined("item");
  require(count_ == 1, "item", "tensor must have 1 element, got ", count_, " of shape ", shape_);
  return visit_dtype(dtype_, [&](auto kind) {
    return convert<T>(*static_cast<const decltype(kind)*>(untyped_data()));
  });
}

std::uint64_t Tensor::integer_element(index_t least, std::uint64_t most) const {
  const auto check = [&](bool fits, auto value) {
    require(fits, "item", "value must be from ", least, " to ", most, ", got ", value);
  };
  if (is_floating(dtype_)) {
    const double value = std::trunc(element<double>());
    check(value >= static_cast<double>(least) && value < static_cast<double>(most) + 1, value);
    return value < 0 ? static_cast<std::uint64_t>(static_cast<index_t>(value))
                     : static_cast<std::uint64_t>(value);
  }
  const auto value = element<index_t>();
  check(value >= least && (value < 0 || static_cast<std::uint64_t>(value) <= most), value);
  return static_cast<std::uint64_t>(value);
}

Tensor Tensor::view_at(const Dims& index) const {
  check_defined("item_at");
  require(index.size() == rank(), "item_at", "index must have as many numbers as shape ", shape_,
          " has axes, got ", index);
  Tensor element = detach();
  for (index_t axis = 0; axis < rank(); ++axis) {
    require(-shape_[axis] <= index[axis] && index[axis] < shape_[axis], "item_at",
            "index must be in the range of shape ", shape_, ", got ", index);
    element = element.select(0, index[axis]);
  }
  return element;
}

template <ElementType T>
std::vector<T> Tensor::to_vector() const {
  check_dtype("to_vector", dtype_of<T>);
  const Tensor source = detach().contiguous();
  const T* first = source.data<T>();
  return std::vector<T>(first, first + count_);
}

template bool Tensor::element() const;
template float Tensor::element() const;
template double Tensor::element() const;
template std::vector<bool> Tensor::to_vector() const;
template std::vector<index_t> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;

Tensor Tensor::contiguous() const {
  check_defined("contiguous");
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::clone() const {
  check_defined("clone");
  Tensor result = empty(shape_, dtype_);
  result.copy_from(detach());
  return recorded("clone", *this, result, [](const Tensor& dy, Gradients& dx) { dx.add(0, dy); });
}

Tensor Tensor::to(DType dtype) const {
  check_defined("to");
  if (dtype == dtype_) return *this;
  require_enum("to", "dtype", dtype, kFloat64);
  Tensor result = empty(shape_, dtype);
  result.copy_from(detach());
  if (!is_floating(dtype)) return result;  // the result is constant in x: no gradient
  return recorded("to", *this, result, [](const Tensor& dy, Gradients& dx) { dx.add(0, dy); });
}

Tensor& Tensor::set_requires_grad(bool wanted) {
  check_defined("set_requires_grad");
  require(is_floating(dtype_), "set_requires_grad", "dtype must be floating, got ", dtype_);
  require(!slot_ || slot_->recording == 0, "set_requires_grad",
          "tensor must not be computed under a tape; call detach() first");
  if (!wanted && slot_) {
    slot_->is_frozen = true;
    slot_ = nullptr;
  }
  if (wanted && !slot_) {
    slot_ = std::make_shared<GradSlot>(GradSlot{.shape = shape_, .dtype = dtype_});
  }
  return *this;
}

Tensor Tensor::grad() const {
  return slot_ ? slot_->gradient : Tensor();
}

void Tensor::zero_grad() {
  if (slot_) slot_->gradient = Tensor();
}

Tensor Tensor::detach() const {
  Tensor result = *this;
  result.slot_ = nullptr;
  return result;
}

Tensor Scalar::to_tensor(DType dtype) const {
  Tensor result = Tensor::empty({}, is_integral() ? kInt64 : kFloat64);
  if (is_integral()) {
    *result.mutable_data<index_t>() = integer_;
  } else {
    *result.mutable_data<double>() = real_;
  }
  return result.to(dtype);
}

Tensor& Tensor::fill(Scalar value) {
  check_defined("fill");
  const double real = value.value();
  const bool fits = dtype_ != kInt64 || value.is_integral() || (real >= -0x1p63 && real < 0x1p63);
  require(fits, "fill", "value must fit int64, got ", real);
  prepare_write("fill");
  return copy_from(value.to_tensor(value.is_integral() ? kInt64 : kFloat64));
}

Tensor& Tensor::copy_from(const Tensor& source) {
  check_defined("copy_from");
  require(source.defined(), "copy_from", "source must be defined, got an undefined tensor");
  require(broadcast_shapes("copy_from", source.shape_, shape_) == shape_, "copy_from",
          "source must broadcast to shape ", shape_, ", got ", source.shape_);
  source.check_unrecorded("copy_from");
  prepare_write("copy_from");
  Tensor from = source.expand(shape_);
  // The source must not change while it is read: views of one storage may overlap.
  if (source.storage_ == storage_) from = source.clone().expand(shape_);
  if (from.dtype_ == dtype_ && from.is_contiguous() && is_contiguous()) {
    copy_bytes(from.untyped_data(), untyped_mutable_data(), count_ * item_size(dtype_));
    return *this;
  }
  visit_dtype(from.dtype_, [&](auto from_kind) {
    visit_dtype(dtype_, [&](auto to_kind) {
      using From = decltype(from_kind);
      using To = decltype(to_kind);
      convert_elements(shape_, static_cast<const From*>(from.untyped_data()), from.strides_,
                       static_cast<To*>(untyped_mutable_data()), strides_);
    });
  });
  return *this;
}

}  // namespace tessera
