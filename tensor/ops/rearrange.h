// Elements of a tensor at other positions: reversed, shifted, padded, repeated; and several tensors
// joined into one. **Errors** of all functions: an undefined tensor.
#pragma once

#include <optional>
#include <vector>

#include "tessera/tensor/ops/operand.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// x reversed along `axes` (by default all axes). The result is a view, which shares memory with x.
///
/// **Shapes**: that of x. **Errors**: an axis out of range or named twice.
/// **Source**: numpy.flip; torch.flip, which copies.
Tensor flip(const Tensor& x, const Axes& axes = {});

/// x shifted by shifts[i] along axes[i]; elements shifted out at one end enter at the other.
/// Without axes, all elements in row-major order are shifted by the only shift.
///
/// **Shapes**: that of x. An axis named twice is shifted by the sum.
/// **Errors**: a number of shifts that is not the number of axes, or not 1 without axes; an axis
/// out of range.
/// **Source**: torch.roll, numpy.roll.
Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes = {});

/// x padded with `value`: `pad(x, {left, right, top, bottom})` adds left and right columns to the
/// last axis, top and bottom rows to the axis before, and so on. A negative number removes rows or
/// columns.
///
/// **Shapes**: the size of each padded axis grows by the sum of its two numbers.
/// **Errors**: an odd number of pads, or more than two per axis of x; a size that would become
/// negative; a value that an integer or bool x cannot hold.
/// **Source**: torch.nn.functional.pad, mode "constant"; numpy.pad lists the first axis first.
Tensor pad(const Tensor& x, const std::vector<index_t>& pads, Scalar value = 0);

/// x repeated as a whole, repeats[i] times along axis i: `tile(tensor({1, 2}), 2)` is 1, 2, 1, 2.
/// If there are fewer repeats than axes, the first axes have a repeat of 1.
///
/// **Shapes**: each size is multiplied by its repeat; if there are more repeats than axes, new axes
/// of size 1 are first added in front. **Errors**: a negative repeat; a number of elements that
/// does not fit int64.
/// **Source**: numpy.tile, torch.tile; torch.Tensor.repeat with a repeat for each axis.
Tensor tile(const Tensor& x, const Dims& repeats);

/// Each element repeated `repeats` times along `axis`: `repeat_interleave(tensor({1, 2}), 2, 0)` is
/// 1, 1, 2, 2.
///
/// **Shapes**: `axis` becomes `repeats` times as long.
/// **Errors**: a negative number of repeats; an axis out of range.
/// **Source**: torch.repeat_interleave; numpy.repeat.
Tensor repeat_interleave(const Tensor& x, index_t repeats, index_t axis);

/// The parts joined along `axis`.
///
/// **Shapes**: parts of the same rank whose sizes are equal on every axis except `axis`. Along
/// `axis`, a part may have size 0, and the size of the result is the sum of the parts' sizes. The
/// result has the promoted dtype.
/// **Errors**: no parts, an undefined part, ranks that differ, sizes that differ on an axis other
/// than `axis`, an axis out of range.
/// **Source**: numpy.concatenate, torch.cat.
Tensor concat(const std::vector<Tensor>& parts, index_t axis = 0);

/// A copy of x in which `part` replaces `x.slice(axis, start, stop)`.
///
/// **Shapes**: part has the shape of that slice; the result has the shape of x, and the dtype to
/// which x and part promote.
/// **Errors**: a part of a different shape; an axis out of range. **Source**: torch.slice_scatter.
Tensor slice_scatter(const Tensor& x, const Tensor& part, index_t axis,
                     std::optional<index_t> start = {}, std::optional<index_t> stop = {});

/// The parts stacked along a new axis, which is `axis` of the result.
///
/// **Shapes**: parts of the same shape; for n parts the new axis has size n. The result has the
/// promoted dtype.
/// **Errors**: no parts, an undefined part, shapes that differ, an axis out of range, parts that
/// have kMaxRank axes already.
/// **Source**: numpy.stack, torch.stack.
Tensor stack(const std::vector<Tensor>& parts, index_t axis = 0);

}  // namespace tessera
