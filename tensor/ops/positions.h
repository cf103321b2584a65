// Positions: the sinusoidal table, which is added to embeddings; and rotary positions, which rotate
// queries and keys so that a score depends on the two positions only by their distance.
//
//   const Rotation by = {.table = rotary_table(512, 64)};
//   const Tensor y = rotary(q, by);                                 // q (B, T, H, 64)
//   const Tensor qkv = rotary_linear(x, weight, bias, {by, 2 * heads, 64});  // rotates q and k
//
// rotary_linear (linear.h) rotates each head while the head is still in the cache.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The table of sinusoidal positions, computed in double. A sine and a cosine share each frequency:
///
///     p(pos, 2k) = sin(pos f_k), p(pos, 2k + 1) = cos(pos f_k),   f_k = 10000^(-2k / width)
///
/// **Shapes**: (positions, width); an odd width ends with a sine. **Errors**: as Tensor::empty.
/// **Source**: Vaswani et al., "Attention Is All You Need", 2017, section 3.5.
Tensor sinusoidal_positions(index_t positions, index_t width, DType dtype = kFloat32);

/// Row p has the cosines of the angles p f(k) for k = 0, ..., width / 2 - 1, then their sines. The
/// frequencies are f(k) = base^(-2k / width) / divisor. For texts that are s times as long as in
/// training, NTK scaling lowers the frequencies: multiply the base by s, and set the divisor to
/// s^(2 / width).
///
/// **Shapes**: (positions, width). **Numerics**: frequencies and angles are rounded to float32 for
/// any dtype, because models are trained with rounded angles: at position 8000 an angle may differ
/// from the exact angle by 1e-3. So a model in float64 uses the same angles as in float32, and
/// computes more digits of their sines and cosines.
/// **Errors**: as Tensor::empty; an odd width, a base or a divisor that is not positive and finite,
/// a dtype that is not floating.
/// **Source**: Su et al., "RoFormer", 2021, section 3.3; Hugging Face's ModernBERT.
Tensor rotary_table(index_t positions, index_t width, double base = 10000, DType dtype = kFloat32,
                    double divisor = 1);

/// The angles by which heads are rotated, and which of their columns are pairs.
struct Rotation {
  Tensor table;              // (max_positions, r), by rotary_table; rotates the first r columns
  Tensor positions = {};     // of the tokens, int64, broadcast to (..., T); undefined: 0, 1, ...
  bool interleaved = false;  // pairs are columns 2k and 2k + 1 (GPT-J), else k and k + r / 2
};

/// Rotates each pair (a, b) of a head's columns: `a cos - b sin, b cos + a sin`. For pair k of a
/// token at position p, the cosine and the sine are those of angle k in row p of the table. Columns
/// from r on are copied.
///
/// **Shapes**: x (..., T, H, d) -> the same, contiguous.
/// **Errors**: x with fewer than three axes, or not floating; a table that is undefined, wider than
/// a head, of an odd width or not a matrix, of a different dtype, or that requires a gradient while
/// a tape records; positions that are not int64, of a wrong shape or outside the table; without
/// positions, more tokens than the table has rows.
/// **Source**: Su et al., "RoFormer", 2021, section 3.4.2.
Tensor rotary(const Tensor& x, const Rotation& rotation);

/// The columns of a linear layer's output to rotate: the first heads * width columns, one head
/// after the other.
struct RotaryColumns {
  Rotation rotation;
  index_t heads = 0;
  index_t width = 0;
};

}  // namespace tessera
