// Removes the padding of a batch, and restores it.
//
//   const Tensor rows = unpad_rows(x, lengths);              // (B, T, D) -> (N, D)
//   const Tensor y = linear(rows, weight, bias);             // only real tokens
//   const Tensor padded = pad_rows(y, lengths, x.size(1));   // (B, T, F)
//
// UnpaddedRows describes how a batch is unpadded; it is an option of attention().
//
// **Errors** of all functions: an undefined tensor.
#pragma once

#include <optional>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The first lengths[b] rows of each sequence b, one sequence after the other.
///
/// **Shapes**: x (B, T, ...), lengths (B) int64 from 0 to T -> (N, ...), where N is the sum of the
/// lengths.
/// **Errors**: x with fewer than two axes; lengths that are not int64 of rank 1 or not B numbers; a
/// length outside [0, T].
/// **Source**: unpad_input of flash_attn.bert_padding, which takes a mask.
Tensor unpad_rows(const Tensor& x, const Tensor& lengths);

/// The inverse of unpad_rows. Each sequence gets `padded_length` rows: its own rows, then rows of
/// zeros.
///
/// **Shapes**: x (N, ...), lengths (B) int64 that add up to N -> (B, padded_length, ...).
/// **Errors**: x without axes, or with kMaxRank axes; negative `padded_length`; lengths that are
/// not int64 of rank 1; a length outside [0, padded_length]; a sum of lengths that is not N.
/// **Source**: pad_input of flash_attn.bert_padding, which takes indices.
Tensor pad_rows(const Tensor& x, const Tensor& lengths, index_t padded_length);

/// The positions of a batch's sequences after unpad_rows, one sequence after the other. By default
/// nothing is unpadded.
///
///   const UnpaddedRows unpadded(lengths, x.size(1));
///   const Tensor rows = unpadded.unpad(x);             // (B, T, D) -> (1, N, D)
///   attention(q, k, v, mask, {.unpadded = unpadded})   // q, k, v: (1, H, N, d), from rows
class UnpaddedRows {
 public:
  UnpaddedRows() = default;
  /// Sequence b has lengths[b] rows; a padded sequence has `padded_length` rows, by default the
  /// largest length.
  ///
  /// **Shapes**: (B), int64. **Errors**: a different rank or dtype, a negative length, a length
  /// above `padded_length`, a sum that does not fit int64.
  explicit UnpaddedRows(const Tensor& lengths, std::optional<index_t> padded_length = {});
  explicit UnpaddedRows(const std::vector<index_t>& lengths,
                        std::optional<index_t> padded_length = {});

  /// Whether rows are unpadded.
  explicit operator bool() const { return offsets_.defined(); }
  /// The number of sequences. Call batch(), rows() and offsets() only if rows are unpadded.
  index_t batch() const { return offsets_.count() - 1; }
  /// The number of rows of a padded sequence; 0 if nothing is unpadded.
  index_t padded_length() const { return padded_length_; }
  /// The number of unpadded rows of all sequences.
  index_t rows() const { return offsets()[batch()]; }
  /// The index of the first unpadded row of each sequence, then rows(): batch() + 1 entries.
  const index_t* offsets() const { return offsets_.data<index_t>(); }

  /// unpad_rows, as a batch of one: (B, T, ...) -> (1, N, ...); x itself if nothing is unpadded.
  /// **Errors**: as unpad_rows.
  Tensor unpad(const Tensor& x) const;
  /// pad_rows, of a batch of one: (1, N, ...) -> (B, T, ...); y itself if nothing is unpadded.
  /// **Errors**: a first axis whose size is not 1; as pad_rows.
  Tensor pad(const Tensor& y) const;

 private:
  Tensor offsets_;
  index_t padded_length_ = 0;
};

}  // namespace tessera
