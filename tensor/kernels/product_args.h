// The arguments of a product: its operands and its epilogue. Each kind of operand or epilogue has
// its own fields, so that two kinds cannot be combined by mistake.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::kernels {

/// A read-only matrix with any strides.
template <class T>
struct MatrixRef {
  const T* data;
  index_t row, col;

  [[gnu::always_inline]] MatrixRef at(index_t i, index_t j) const {
    return {data + i * row + j * col, row, col};
  }
};

/// A matrix whose rows are contiguous and `row` elements apart.
template <class T>
struct Rows {
  T* data = nullptr;
  index_t row = 0;
};

/// The number of vectors in a row of a panel of B.
inline constexpr int kPanelVectors = 2;

/// B of a product: a matrix, or panels made by pack_b (by pack_gated_b for a gated product).
template <class T>
struct SecondFactor {
  enum class Kind { kMatrix, kPanels };
  Kind kind;
  union {
    MatrixRef<T> matrix;
    const T* panels;
  };

  SecondFactor(const MatrixRef<T>& b) : kind(Kind::kMatrix), matrix(b) {}
  explicit SecondFactor(const T* b) : kind(Kind::kPanels), panels(b) {}
};

/// Rotary embedding: rotates adjacent heads of a row by the angles of the row's position. The
/// formula is in tensor/kernels/rotary.h.
///
/// **Shapes**: heads (rows, heads, width); table (positions, rotated): the cosines of the pairs,
/// then their sines. The first `rotated` columns of a head are rotated; `rotated` is even.
template <class T>
struct HeadRotation {
  index_t heads, width, rotated;
  const T* table;
  const index_t* positions = nullptr;  // one per row; null: row i has position i % tokens
  index_t tokens = 1;
  bool interleaved = false;  // pairs are columns 2k and 2k + 1, else k and k + rotated / 2
};

/// C = function(z) (+ residual), where z is A B (+ bias).
template <class T>
struct Activated {
  Activation function = Activation::kNone;
  Rows<const T> residual = {};
  T* argument = nullptr;  // optional: receives z, laid out as C
};

/// C = function(z1) o z2, where z = [z1 | z2] is twice as wide as C; o is the elementwise product.
template <class T>
struct Gated {
  Activation function = Activation::kNone;
  T* halves = nullptr;  // optional: receives z, (m, 2n), contiguous
};

/// The steps from the product A B to C: z = A B (+ bias), then one of three kinds: an activation
/// and a residual, a gate, or the rotation of the columns [0, heads * width).
template <class T>
struct Epilogue {
  enum class Kind { kActivated, kGated, kRotated };
  const T* bias;  // null: none
  Kind kind;
  union {
    Activated<T> activated;
    Gated<T> gated;
    HeadRotation<T> rotated;
  };

  explicit Epilogue(const T* addend = nullptr, const Activated<T>& end = {})
      : bias(addend), kind(Kind::kActivated), activated(end) {}
  Epilogue(const T* addend, const Gated<T>& end) : bias(addend), kind(Kind::kGated), gated(end) {}
  Epilogue(const T* addend, const HeadRotation<T>& end)
      : bias(addend), kind(Kind::kRotated), rotated(end) {}

  [[gnu::always_inline]] bool is_gated() const { return kind == Kind::kGated; }
};

/// A product without its operands: C = epilogue(A B).
///
/// **Shapes**: A (m, k), B (k, n), C and residual (m, n), bias (n); gated B (k, 2n), bias (2n).
template <class T>
struct ProductArgs {
  index_t m, n, k;
  Rows<T> c;
  Epilogue<T> epilogue = Epilogue<T>();
  index_t workers = 1;  // the largest number of threads
};

/// A product of floating-point numbers.
///
/// Each element of A B is one chain of fused multiply-adds in the order of k, and the epilogue
/// begins when the chain is complete. So no stride, size, thread count or vector width changes a
/// bit, and a fused epilogue gives the bits of separate ops.
template <class T>
struct GemmArgs : ProductArgs<T> {
  MatrixRef<T> a;
  SecondFactor<T> b;
  T* workspace = nullptr;  // gemm_workspace(args) elements
};

/// The largest k of a product of int8: no sum of this number of products exceeds 32 bits.
inline constexpr index_t kInt8Depth = 65536;

/// The number of consecutive k in a group: their codes of one column of B are one 32-bit word.
inline constexpr index_t kInt8Group = 4;

/// B (k, n) of a product of int8: integers from -127 to 127, the codes, in panels (int8.h), and a
/// scale for each column: b(p, j) is about code(p, j) scale(j).
///
/// **Shapes**: codes, round_up(k, 4) bytes per column; scales, sums, one per column. There are n
/// columns, or 2 n for a gated product, rounded up to whole panels (Int8Kernels::columns).
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
/// The integers are exact, so C has the same bits on every processor.
///
/// **The limit.** If scale(i) scale(j) overflows, the element is inf or NaN, even if the float32
/// product is finite. This happens for elements of about 1e22 in both a row and a column: one unit
/// of the integer sum is then larger than the largest float.
///
/// k <= kInt8Depth.
struct Int8Args : ProductArgs<float> {
  Int8Rows a;
  Int8Panels b;
};

}  // namespace tessera::kernels
