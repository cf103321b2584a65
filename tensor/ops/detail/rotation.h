// The rotation of heads, shared by rotary and rotary_linear. Private to tensor/ops.
#pragma once

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/positions.h"

namespace tessera::detail {

/// A Rotation for heads in the layout (rows, heads, width): checked, and ready for kernels.
struct HeadRotation {
  Tensor table;      // (positions, r), contiguous; r columns of each head are rotated
  Tensor positions;  // (rows), contiguous; undefined: row i is at i % tokens
  index_t tokens;
  index_t heads;
  index_t width;
  bool interleaved;

  /// The same for the kernels.
  template <class T>
  kernels::HeadRotation<T> for_kernel() const {
    return {.heads = heads,
            .width = width,
            .rotated = table.size(1),
            .table = table.data<T>(),
            .positions = positions.defined() ? positions.data<index_t>() : nullptr,
            .tokens = tokens,
            .interleaved = interleaved};
  }
};

/// A rotation that is saved for a backward pass.
class SavedRotation {
 public:
  SavedRotation(const Recording& op, const HeadRotation& rotation)
      : rotation_(rotation),
        table_(op.save(rotation.table)),
        positions_(op.save(rotation.positions)) {}

  /// **Errors**: the table or the positions were written to since the op ran.
  const HeadRotation& get() const {
    table_.get();
    positions_.get();
    return rotation_;
  }

 private:
  HeadRotation rotation_;
  Saved table_, positions_;
};

/// The rotation of `heads` heads of `width` columns of a `dtype` tensor whose tokens have the shape
/// (..., T).
/// **Errors**: as rotary(); the errors name `op`.
HeadRotation checked_rotation(const char* op, const Rotation& rotation, const Shape& tokens,
                              index_t heads, index_t width, DType dtype);

/// Writes x (..., T, H, d), rotated by the angles or their opposites, into y, which may be x; y's
/// leading axes have one stride, and its last axis is contiguous.
void rotate_heads(const HeadRotation& rotation, const Tensor& x, Tensor y, bool back);

/// The gradient of a product whose heads are then rotated, from `dy`, the gradient of the rotated
/// product: rotates the heads back, in place if no other tensor shares the memory of dy.
Tensor rotate_columns_back(const HeadRotation& rotation, const Tensor& dy);

}  // namespace tessera::detail
