// The arguments of a product: its operands, and the epilogue that follows it.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera::kernels {

/// A read-only matrix with any strides. Within a kernel, A may also be in strips (packing.h): the
/// strips of all its tiles, one after the other.
template <class T>
struct MatrixRef {
  const T* data;
  index_t row, col;
  bool in_strips = false;  // true: the strides are not read

  [[gnu::always_inline]] MatrixRef at(index_t i, index_t j) const {
    return {data + i * row + j * col, row, col};
  }
  /// Rows [i, i + rows), those of one tile, of k columns.
  [[gnu::always_inline]] MatrixRef tile(index_t i, index_t rows, index_t k) const {
    return in_strips ? MatrixRef{data + i * k, 1, rows} : at(i, 0);
  }
};

/// The number of vectors in a row of a panel of B.
inline constexpr int kPanelVectors = 2;

/// The columns in all panels of B, for C of n columns and vectors of `lanes` elements: n, rounded
/// up to whole panels. A panel of a gated product has a vector of each half.
[[gnu::always_inline]] inline index_t panel_columns(index_t n, bool gated, index_t lanes) {
  const index_t unit = gated ? lanes : kPanelVectors * lanes;
  const index_t whole = (n + unit - 1) / unit * unit;
  return gated ? kPanelVectors * whole : whole;
}

/// Rotary embedding: rotates adjacent heads of a row by the angles of the row's position. The
/// formula is in tensor/kernels/rotary.h.
///
/// **Shapes**: heads (rows, heads, width); table (positions, rotated): the cosines of the pairs,
/// then their sines. The first `rotated` columns of a head are rotated; `rotated` is even.
template <class T>
struct HeadRotation {
  index_t heads = 0, width = 0, rotated = 0;
  const T* table = nullptr;
  const index_t* positions = nullptr;  // one per row; null: row i has position i % tokens
  index_t tokens = 1;
  bool interleaved = false;  // pairs are columns 2k and 2k + 1, else k and k + rotated / 2
};

/// The steps from the product A B to C. With z = A B (+ bias),
///
///     C = function(z) (+ residual)
///     C = function(z1) o z2             if `gated`: z = [z1 | z2] is twice as wide as C
///     C = z, rotated                    if `rotation` has heads: the columns [0, heads * width)
///
/// where o is the elementwise product. Only the first kind has a residual, and the last has no
/// function.
template <class T>
struct Epilogue {
  const T* bias = nullptr;  // null: none
  Activation function = Activation::kNone;
  const T* residual = nullptr;  // null: none; its rows are residual_row apart
  index_t residual_row = 0;
  bool gated = false;
  HeadRotation<T> rotation = {};
  T* z = nullptr;  // optional: receives z, laid out as C or, if gated, (m, 2n), contiguous
};

/// A product of floating-point numbers: C = epilogue(A B).
///
/// **Shapes**: A (m, k), B (k, n), C and residual (m, n), bias (n); gated B (k, 2n), bias (2n).
///
/// Each element of A B is one chain of fused multiply-adds in the order of k, and the epilogue
/// begins when the chain is complete. So no stride, size, thread count or vector width changes a
/// bit, and a fused epilogue gives the bits of separate ops.
template <class T>
struct GemmArgs {
  index_t m, n, k;
  T* c;  // rows contiguous, c_row apart
  index_t c_row;
  MatrixRef<T> a = {};
  MatrixRef<T> b = {};
  const T* packed_b = nullptr;  // B by pack_b (gated: pack_gated_b); if not null, `b` is not read
  Epilogue<T> epilogue = {};
  index_t workers = 1;     // the largest number of threads
  T* workspace = nullptr;  // gemm_workspace(args) elements; int8: Int8Kernels::workspace
};

/// The largest k of a product of int8: no sum of this number of products exceeds 32 bits.
inline constexpr index_t kInt8Depth = 65536;

/// The number of consecutive k in a group: their codes of one column of B are one 32-bit word.
inline constexpr index_t kInt8Group = 4;

/// B (k, n) of a product of int8: integers from -127 to 127, the codes, in panels (int8.h), and a
/// scale for each column: b(p, j) is about code(p, j) scale(j).
///
/// **Shapes**: codes, round_up(k, 4) bytes per column; scales, sums, one per column. There are
/// panel_columns(n, gated, lanes) columns.
struct Int8Panels {
  const std::int8_t* codes;
  const float* scales;
  const std::int32_t* sums;  // the sum of each column's codes
};

/// The index of code (p, j) in panels of `width` columns; j counts the columns of all panels.
[[gnu::always_inline]] inline index_t int8_place(index_t k, index_t width, index_t p, index_t j) {
  const index_t groups = (k + kInt8Group - 1) / kInt8Group;
  const index_t word = (j / width * groups + p / kInt8Group) * width + j % width;
  return word * kInt8Group + p % kInt8Group;
}

/// A (m, k) of a product of int8: whole numbers from 0 to 255, a scale and a zero point for each
/// row: a(i, p) is about (code(i, p) - zero(i)) scale(i). A row with inf or NaN has the scale NaN.
///
/// **Shapes**: codes (m, Int8Kernels::row_size(k, dots)); scales, zeros (m).
struct Int8Rows {
  // The order of the codes. true: for dot products of bytes; requires dot_products(). false: for
  // the instructions that all processors of the instruction set have. On Arm both orders are the
  // same. See int8.h.
  bool dots;
  std::uint32_t* codes;
  float* scales;
  std::int32_t* zeros;
};

/// A product of int8. With s the sum of code(i, p) code(p, j) over p, A B has the elements
///
///     float(s - zero(i) sum(j)) (scale(i) scale(j))
///
/// The integers are exact, so C is bitwise the same on every processor.
///
/// **The limit.** If scale(i) scale(j) overflows, the element is inf or NaN, even if the float32
/// product is finite. This happens for elements of about 1e22 in both a row and a column: one unit
/// of the integer sum is then larger than the largest float.
///
/// k <= kInt8Depth.
struct Int8Args {
  GemmArgs<float> product;  // its a, b and packed_b are not read
  Int8Rows a;
  Int8Panels b;
};

}  // namespace tessera::kernels
