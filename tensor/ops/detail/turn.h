// What rotary and linear share: a rotation that is checked and ready for the kernel. Private to
// tensor/ops.
#pragma once

#include "tensor/autograd/recording.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/positions.h"

namespace tessera::detail {

/// The rotation of heads that lie as (rows, heads, width). The default turns nothing.
struct Turn {
  Tensor table;      // (positions, r), contiguous
  Tensor positions;  // (rows), contiguous; undefined: row i is at i % tokens
  index_t tokens = 0;
  index_t heads = 0;
  index_t width = 0;
  bool interleaved = false;

  explicit operator bool() const { return table.defined(); }

  /// The same for the kernels.
  template <class T>
  kernels::HeadRotation<T> rotation() const {
    return {.heads = heads,
            .width = width,
            .turned = table.size(1),
            .table = table.data<T>(),
            .positions = positions.defined() ? positions.data<index_t>() : nullptr,
            .tokens = tokens,
            .interleaved = interleaved};
  }
};

/// A turn as a backward keeps it.
class SavedTurn {
 public:
  SavedTurn(const Recording& op, const Turn& turn)
      : turn_(turn), table_(op.save(turn.table)), positions_(op.save(turn.positions)) {}

  /// **Errors**: the table or the positions were written to since the op ran.
  const Turn& get() const {
    table_.get();
    positions_.get();
    return turn_;
  }

 private:
  Turn turn_;
  Saved table_, positions_;
};

/// The turn of `heads` heads of `width` columns of a `dtype` tensor whose tokens have the shape
/// (..., T).
/// **Errors**: in the name of `op`, those of rotary().
Turn checked_turn(const char* op, const Rotation& rotation, const Shape& tokens, index_t heads,
                  index_t width, DType dtype);

/// Writes x (..., T, H, d), turned by the angles or their opposites, into y, which may be x; y's
/// leading axes have one stride, and its last axis is contiguous.
void turn_heads(const Turn& turn, const Tensor& x, Tensor y, bool back);

/// The gradient of linear's result before its heads were turned, from the gradient `dy` after: the
/// heads are turned back, in place if no other tensor shares the memory of dy.
Tensor turn_columns_back(const Turn& turn, const Tensor& dy);

}  // namespace tessera::detail
