// Removes the padding of a batch, and restores it.
//
//   const Tensor rows = pack_rows(x, lengths);                  // (B, T, D) -> (N, D)
//   const Tensor y = linear(rows, weight, bias);                // on real tokens only
//   const Tensor padded = unpack_rows(y, lengths, x.size(1));   // (B, T, F)
//
// PackedRows describes how a batch is packed; it is an option of attention().
//
// **Errors** of all functions: an undefined tensor.
#pragma once

#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The first lengths[b] rows of each sequence b, one sequence after the other.
///
/// **Shapes**: x (B, T, ...), lengths (B) int64 from 0 to T -> (N, ...), where N is the sum of the
/// lengths.
/// **Errors**: x with fewer than two axes; lengths that are not int64 of rank 1 or not B numbers; a
/// length outside [0, T].
/// **Source**: unpad_input of flash_attn.bert_padding, which takes a mask.
Tensor pack_rows(const Tensor& x, const Tensor& lengths);

/// The inverse of pack_rows. Each sequence gets `tokens` rows: its own rows, then rows of zeros.
///
/// **Shapes**: x (N, ...), lengths (B) int64 that add up to N -> (B, tokens, ...).
/// **Errors**: x without axes, or with kMaxRank axes; negative `tokens`; lengths that are not int64
/// of rank 1; a length outside [0, tokens]; a sum of lengths that is not N.
/// **Source**: pad_input of flash_attn.bert_padding, which takes indices.
Tensor unpack_rows(const Tensor& x, const Tensor& lengths, index_t tokens);

/// The positions of a batch's sequences, packed one after the other by pack_rows. By default
/// nothing is packed.
///
///   const PackedRows packed(lengths, x.size(1));
///   const Tensor rows = packed.pack(x);            // (B, T, D) -> (1, N, D)
///   attention(q, k, v, mask, {.packed = packed})   // q, k, v: (1, H, N, d), from rows
class PackedRows {
 public:
  PackedRows() = default;
  /// Sequence b has lengths[b] rows; a padded sequence has `tokens` rows, by default the largest
  /// length.
  ///
  /// **Shapes**: (B), int64. **Errors**: a different rank or dtype, a negative length, a length
  /// above `tokens`, a sum that does not fit int64.
  explicit PackedRows(const Tensor& lengths, std::optional<index_t> tokens = {});
  explicit PackedRows(const std::vector<index_t>& lengths, std::optional<index_t> tokens = {});

  /// Whether rows are packed.
  explicit operator bool() const { return offsets_.defined(); }
  /// The number of sequences. Call batch(), rows() and offsets() only if rows are packed.
  index_t batch() const { return offsets_.count() - 1; }
  /// The number of rows of a padded sequence; 0 if nothing is packed.
  index_t tokens() const { return tokens_; }
  /// The number of packed rows of all sequences.
  index_t rows() const { return offsets()[batch()]; }
  /// The index of the first packed row of each sequence, then rows(): batch() + 1 entries.
  const index_t* offsets() const { return offsets_.data<index_t>(); }

  /// pack_rows, as a batch of one: (B, T, ...) -> (1, N, ...); x itself if nothing is packed.
  /// **Errors**: as pack_rows.
  Tensor pack(const Tensor& x) const;
  /// unpack_rows, of a batch of one: (1, N, ...) -> (B, T, ...); y itself if nothing is packed.
  /// **Errors**: a first axis whose size is not 1; as unpack_rows.
  Tensor unpack(const Tensor& y) const;

 private:
  Tensor offsets_;
  index_t tokens_ = 0;
};

}  // namespace tessera
