// Tensor: a handle on shared storage, and its own shape, strides, offset and dtype.
//
//   Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});   // create.h
//   Tensor t = x.transpose(0, 1);                  // a view: shares x's storage
//   float v = t.item_at<float>({0, 1});            // 3
//
// Copying a Tensor copies the handle, not the elements; clone() copies the elements. Every view is
// O(1). Ops (tensor/ops) are free functions that take any strides and return new tensors; only
// fill, copy_from, mutable_data and the operators +=, -=, *= and /= write into existing tensors.
//
// **Errors** of all functions that take tensors, here and in tensor/ops: an undefined tensor,
// unless the function's comment says what an undefined tensor means. **Errors** of all functions
// that make tensors: OutOfMemory (storage.h).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/tensor/dtype.h"
#include "tessera/tensor/scalar.h"
#include "tessera/tensor/shape.h"
#include "tessera/tensor/storage.h"

namespace tessera {

struct GradSlot;

/// An array of up to kMaxRank axes: a handle on shared memory, and its own shape, strides, offset
/// and dtype.
/// **Source**: torch.Tensor, for the members by the same names; slice: the slices of numpy.ndarray.
class Tensor {
 public:
  /// An undefined tensor: `defined()` is false. An undefined tensor represents an absent optional
  /// part (a bias, a mask). Reading, viewing or writing its elements is an error.
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  ~Tensor() = default;
  /// Refers to what `other` refers to. Only for named tensors, because `x.select(0, 0) = y` would
  /// write nothing: call copy_from().
  Tensor& operator=(const Tensor& other) & = default;
  Tensor& operator=(Tensor&& other) & noexcept = default;

  /// A new C-contiguous tensor with undefined contents.
  /// **Errors**: a negative size; a number of bytes that does not fit int64; OutOfMemory
  /// (storage.h).
  static Tensor empty(const Shape& shape, DType dtype = kFloat32);
  /// The elements, row-major, at the beginning of `storage`.
  /// **Errors**: a negative size; a number of elements that does not fit int64; a storage without a
  /// block, or with fewer bytes than the elements need.
  static Tensor of_storage(Storage storage, const Shape& shape, DType dtype);

  /// Whether this tensor has storage; false for Tensor().
  bool defined() const { return static_cast<bool>(storage_); }
  /// The size of each axis.
  const Shape& shape() const { return shape_; }
  /// For each axis, the distance in memory from one index to the next, in elements.
  const Strides& strides() const { return strides_; }
  /// The position of the first element in the storage, in elements.
  index_t offset() const { return offset_; }
  /// The type of the elements.
  DType dtype() const { return dtype_; }
  /// The number of axes.
  index_t rank() const { return shape_.size(); }
  /// The number of elements.
  index_t count() const { return count_; }
  /// The size along `axis`, which may be negative. **Errors**: an axis out of range.
  index_t size(index_t axis) const;
  const Storage& storage() const { return storage_; }

  /// Whether the elements are in memory in row-major order without gaps.
  bool is_contiguous() const;
  /// Whether two index tuples can refer to the same element, as in a view from expand() or
  /// toeplitz().
  bool is_broadcast() const;

  /// A pointer to the element at index 0 of every axis; the strides lead to the other elements.
  /// **Errors**: T is not the dtype; the tensor requires a gradient while a tape records. (The tape
  /// cannot record what is done with the pointer. If no gradient is needed, call detach() first.)
  template <ElementType T>
  const T* data() const {
    check_dtype("data", dtype_of<T>);
    if (slot_) check_unrecorded("data");
    return static_cast<const T*>(untyped_data());
  }
  /// As data(), for any dtype, and without the check for a gradient.
  const void* untyped_data() const {
    check_defined("data");
    return storage_.data() + offset_ * item_size(dtype_);
  }

  // ---- reading ----

  /// The element of a tensor with one element, cast to T, any type of numbers. A cast to an integer
  /// rounds towards 0. **Errors**: a different number of elements; a value that the integer type
  /// cannot hold, such as NaN.
  template <detail::Number T = double>
  T item() const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      return static_cast<T>(integer_element(Limits::min(), Limits::max()));
    } else if constexpr (ElementType<T>) {
      return element<T>();
    } else {
      return static_cast<T>(element<double>());
    }
  }
  /// The element at `index`, cast to T as by item(); a negative number in `index` counts from the
  /// end. **Errors**: not one number per axis; a number out of range; as item.
  template <detail::Number T = double>
  T item_at(const Dims& index) const {
    return view_at(index).template item<T>();
  }
  /// All elements in row-major order. **Errors**: T is not the dtype.
  template <ElementType T>
  std::vector<T> to_vector() const;

  // ---- views: share storage, O(1) ----

  /// The two axes exchanged. **Errors**: an axis out of range.
  Tensor transpose(index_t axis_a, index_t axis_b) const;
  /// The last two axes exchanged. **Errors**: fewer than two axes.
  Tensor t() const;
  /// Axis i of the result is axis axes[i] of this tensor. **Errors**: not a permutation.
  Tensor permute(const Axes& axes) const;
  /// Elements start, start + step, ... before stop, by Python's rules: negative positions count
  /// from the end, positions past an end are clamped, and a negative step goes backwards. Without
  /// start the slice begins at the first element, or at the last one if step < 0; without stop the
  /// slice goes to the other end. **Errors**: an axis out of range; a step of 0.
  Tensor slice(index_t axis, std::optional<index_t> start, std::optional<index_t> stop = {},
               index_t step = 1) const;
  /// The elements at `index` of `axis`, without this axis. **Errors**: an axis or index out of
  /// range.
  Tensor select(index_t axis, index_t index) const;
  /// This tensor broadcast to `shape` by strides of 0; a size of -1 in `shape` keeps the axis's
  /// size. **Errors**: a shape to which this tensor does not broadcast; a size of -1 for a new
  /// axis; a number of elements that does not fit int64.
  Tensor expand(const Shape& shape) const;
  /// Without `axis`, which must have size 1. **Errors**: a different size; an axis out of range.
  Tensor squeeze(index_t axis) const;
  /// Without any axis of size 1.
  Tensor squeeze() const;
  /// With a new axis of size 1, which is `axis` of the result. **Errors**: an axis out of range; a
  /// tensor that has kMaxRank axes already.
  Tensor unsqueeze(index_t axis) const;
  /// The same elements in row-major order with a different shape; one size may be -1. A view if the
  /// strides allow it, otherwise a copy. **Errors**: a different number of elements; two sizes of
  /// -1, or a size below -1.
  Tensor reshape(const Shape& shape) const;
  /// Axes first..last merged into one; a view or a copy, as reshape. A tensor without axes gets one
  /// of size 1. **Errors**: an axis out of range; a first axis after the last.
  Tensor flatten(index_t first = 0, index_t last = -1) const;
  /// `axis` cut into axes of these sizes, in row-major order: the inverse of flatten. One size may
  /// be -1.
  /// **Errors**: an axis out of range; sizes whose product is not the size of the axis; two sizes
  /// of -1, or a size below -1; a result with more than kMaxRank axes.
  Tensor unflatten(index_t axis, const Shape& sizes) const;
  /// At most `count` pieces of equal size along `axis` (the last may be smaller).
  /// **Errors**: a count below 1; an axis out of range.
  std::vector<Tensor> chunk(index_t count, index_t axis = 0) const;
  /// Pieces of the given sizes along `axis`. **Errors**: a negative size; sizes whose sum is not
  /// the size of the axis; an axis out of range.
  std::vector<Tensor> split(const std::vector<index_t>& sizes, index_t axis = 0) const;
  /// The list select(axis, 0), select(axis, 1), ... for all indices of `axis`.
  /// **Errors**: an axis out of range.
  std::vector<Tensor> unbind(index_t axis = 0) const;
  /// The elements whose index along axis_b is their index along axis_a plus `offset`, as a new last
  /// axis in place of axis_a and axis_b.
  /// **Errors**: an axis out of range; two equal axes.
  Tensor diagonal(index_t offset = 0, index_t axis_a = 0, index_t axis_b = 1) const;
  /// The last axis as the diagonals of a matrix: element (i, j) of the matrix is element
  /// j - i + rows - 1 of the last axis. The elements of a diagonal share memory, so they cannot be
  /// written to.
  /// **Errors**: negative rows or columns; a last axis whose size is not rows + columns - 1; a
  /// tensor without axes, or with kMaxRank axes.
  Tensor toeplitz(index_t rows, index_t columns) const;

  // ---- copies ----

  /// This tensor if it is contiguous, a contiguous copy otherwise. **Errors**: an undefined tensor.
  Tensor contiguous() const;
  /// A contiguous copy with its own storage. **Errors**: an undefined tensor.
  Tensor clone() const;
  /// This tensor if it has the dtype, a converted copy otherwise. A conversion from floating point
  /// to int64 rounds towards 0. A conversion to bool gives true if the value is not zero.
  /// **Errors**: an undefined tensor.
  Tensor to(DType dtype) const;

  // ---- gradients: see tensor/autograd/tape.h ----

  /// If `wanted`, makes this tensor a variable: Tape::backward computes its gradient. Otherwise
  /// makes it a constant. Handles copied after the call refer to the same variable. A call with
  /// false, then with true, makes a new variable.
  /// **Errors**: an undefined tensor; a dtype that is not floating; a variable that is the result
  /// of a recorded op.
  Tensor& set_requires_grad(bool wanted = true);
  /// Whether this tensor is a variable: set_requires_grad() made it one, or a tape recorded the op
  /// that computed it from a variable.
  bool requires_grad() const { return slot_ != nullptr; }
  /// The sum of this variable's gradients so far, of this tensor's shape; undefined before the
  /// first gradient.
  Tensor grad() const;
  /// Resets the gradient; grad() is undefined until the next backward.
  void zero_grad();
  /// The same elements, with no gradient and no history.
  Tensor detach() const;
  /// The slot in which this variable's gradient is summed; null for a constant.
  const std::shared_ptr<GradSlot>& grad_slot() const { return slot_; }
  void set_grad_slot(std::shared_ptr<GradSlot> slot) { slot_ = std::move(slot); }

  // ---- writing: for initialisers, optimisers and loaders ----
  //
  // A tape does not record a write. So, while a tape records, these are errors: to copy from a
  // variable; to write to a result that a tape has recorded; and, if the tape holds recorded ops,
  // to write to any variable.

  /// As data(), for writing; adds 1 to the storage's version. Write through the pointer only until
  /// the next op reads the tensor: an op may keep data computed from the elements, such as the
  /// packed copy of a Weight, and does not see later writes. Before such writes, call mutable_data
  /// again. A product that detects such a write to a Weight throws (weight.h).
  /// **Errors**: T is not the dtype; a broadcast view, whose elements share memory; a variable, as
  /// above.
  template <ElementType T>
  T* mutable_data() {
    check_dtype("mutable_data", dtype_of<T>);
    prepare_write("mutable_data");
    return static_cast<T*>(untyped_mutable_data());
  }
  /// Sets every element. **Errors**: a broadcast view; a variable, as above; NaN, inf or a number
  /// beyond 2^63 for an int64 tensor.
  Tensor& fill(Scalar value);
  /// Copies the elements of `source`, broadcast and cast, into this tensor; the two may share
  /// memory.
  /// **Errors**: a `source` that does not broadcast to this shape; a broadcast view to write to; a
  /// variable, as above.
  Tensor& copy_from(const Tensor& source);

 private:
  /// As of_storage, for a storage that has room.
  static Tensor over_storage(Storage storage, const Shape& shape, DType dtype);
  Tensor view(const Shape& shape, const Strides& strides, index_t offset) const;
  std::optional<Strides> strides_as(const Shape& shape) const;
  /// The element at `index`, as a tensor of shape ().
  Tensor view_at(const Dims& index) const;
  /// The only element, cast to T; integer_element: as an integer from least to most, modulo 2^64.
  template <ElementType T>
  T element() const;
  std::uint64_t integer_element(index_t least, std::uint64_t most) const;
  void check_defined(const char* op) const {
    if (!defined()) fail_undefined(op);
  }
  [[noreturn]] static void fail_undefined(const char* op);
  void check_dtype(const char* op, DType wanted) const;
  void check_unrecorded(const char* op) const;
  void prepare_write(const char* op);
  void* untyped_mutable_data() { return storage_.data() + offset_ * item_size(dtype_); }

  Storage storage_;
  std::shared_ptr<GradSlot> slot_;
  Shape shape_;
  Strides strides_;
  index_t offset_ = 0;
  index_t count_ = 0;
  DType dtype_ = kFloat32;
};

}  // namespace tessera
