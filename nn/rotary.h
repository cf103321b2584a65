// Rotary positions as a part of attention.
#pragma once

#include "nn/buffer.h"
#include "tensor/ops/rotary.h"

namespace tessera::nn {

struct RotaryOptions {
  double base = 10000;
  index_t width = 0;  // of a head's columns the first that turn, an even number; 0: all
  bool interleaved = false;
  index_t max_tokens = 512;

  friend bool operator==(const RotaryOptions&, const RotaryOptions&) = default;
};

/// The angles of rotary positions for heads of one width, to turn queries and keys with.
///
/// It belongs to no layer: whoever has several with equal options makes one and lends it to all of
/// them. Copies share the table. What turns where projections are made, without another pass:
///
///     linear(x, in_proj_weight, in_proj_bias, {.rotary = rotary.columns(2 * num_heads, x.dtype())})
///
/// turns the queries and keys of a packed projection (B, T, 3 D), each in as many heads.
/// **Errors**: sizes below 1; an odd number of columns, or more than a head has; a base that is not
/// above 0. **Source**: Su et al., "RoFormer", 2021.
struct Rotary {
  Buffer table;  // (max_tokens, columns that turn)
  index_t head_width;
  bool interleaved;

  Rotary(const RotaryOptions& options, index_t head_width);

  /// The rotation of heads of a dtype at these positions, which are int64 and broadcast to (..., T);
  /// 0, 1, ... if undefined.
  Rotation rotation(DType dtype, const Tensor& positions = {}) const;
  /// That of a linear layer's first `heads` heads, for its epilogue.
  RotaryColumns columns(index_t heads, DType dtype, const Tensor& positions = {}) const;
  /// Heads that are there already, turned.
  ///
  /// **Shapes**: (..., T, H, head_width) -> the same. **Errors**: another width, positions beyond
  /// max_tokens.
  Tensor operator()(const Tensor& x, const Tensor& positions = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("table", self.table);
  }
};

}  // namespace tessera::nn
