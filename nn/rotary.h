// Rotary positions for attention.
#pragma once

#include "tessera/nn/visit.h"
#include "tessera/tensor/ops/positions.h"

namespace tessera::nn {

/// The options of Rotary.
struct RotaryOptions {
  double base = 10000;
  index_t width = 0;            // an even number of leading columns of a head to rotate; 0: all
  bool interleaved = false;     // pairs are columns 2k and 2k + 1 (GPT-J), else k and k + width / 2
  index_t max_positions = 512;  // positions in the table
  double divisor = 1;           // divides all frequencies, for a longer range of positions

  friend bool operator==(const RotaryOptions&, const RotaryOptions&) = default;
};

/// The angles by which the heads of queries and keys are rotated, for heads of one width.
///
/// Layers with equal options can share one module. Copies share the table. The linear layer that
/// makes queries and keys can rotate them without another pass over memory:
///
///     rotary_linear(x, in_proj_weight, in_proj_bias, rotary.columns(2 * num_heads, x.dtype()))
///
/// The output (B, T, 3 D) consists of 3 num_heads heads: first all queries, then all keys, then all
/// values. The columns of the first 2 num_heads heads are rotated: the queries and keys.
/// **Errors**: sizes below 1; an odd number of columns, or more than the head width; a base or a
/// divisor that is not positive and finite. **Source**: Su et al., "RoFormer", 2021.
struct Rotary {
  Buffer table;  // (max_positions, rotated columns)
  index_t head_width;
  bool interleaved;

  Rotary(const RotaryOptions& options, index_t head_width);

  /// The rotation for heads of this dtype at these positions, which are int64 and broadcast to
  /// (..., T). Undefined positions mean 0, 1, ... The ops that take the rotation check the dtype
  /// and the positions.
  Rotation rotation(DType dtype, const Tensor& positions = {}) const;
  /// The rotation of the first `heads` heads of a linear layer's output.
  RotaryColumns columns(index_t heads, DType dtype, const Tensor& positions = {}) const;
  /// Rotates heads that are already computed.
  ///
  /// **Shapes**: (..., T, H, head_width) -> the same. **Errors**: an x that is not floating, or has
  /// fewer than three axes or a different width; more than max_positions tokens without positions;
  /// positions that are not int64, do not match x, or are outside [0, max_positions).
  Tensor operator()(const Tensor& x, const Tensor& positions = {}) const;

  static void visit(auto& self, auto&& visitor) { visitor("table", self.table); }
};

}  // namespace tessera::nn
