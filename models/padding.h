// How a padded batch is computed without its padding.
//
//   const Packing packing(lengths, x.size(1));
//   return packing.unpack(token_wise(packing.pack(x)));
#pragma once

#include "tensor/ops/attention_mask.h"
#include "tensor/ops/pack_rows.h"
#include "tensor/tensor.h"

namespace tessera::models {

/// A batch (B, T, ...) as one row of its real tokens, (1, N, ...), if a sequence is shorter than T;
/// otherwise all stays as it is.
class Packing {
 public:
  Packing() = default;
  /// Undefined lengths are T each. **Errors**: a length outside 0 .. T.
  Packing(const Tensor& lengths, index_t tokens);

  explicit operator bool() const { return lengths_.defined(); }

  /// (B, T, ...) -> (1, N, ...).
  Tensor pack(const Tensor& x) const;
  /// (1, N, ...) -> (B, T, ...), zeros at padding.
  Tensor unpack(const Tensor& y) const;
  /// A number a token, (B, T) or (T) -> (1, N); undefined ones stay so.
  Tensor numbers(const Tensor& x) const;
  /// Positions a token, which are 0, 1, ... in each sequence where undefined.
  Tensor positions(const Tensor& given) const;
  /// The mask of the padded batch for the packed one.
  AttentionMask mask(const AttentionMask& of_padded) const;

 private:
  Tensor lengths_;  // undefined where nothing is padding
  index_t tokens_ = 0;
};

}  // namespace tessera::models
