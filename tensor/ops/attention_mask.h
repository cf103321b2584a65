// Masks for attention, by names that cannot be confused.
//
// A bool mask has a polarity, and the field uses both: PyTorch's MultiheadAttention marks what is
// ignored, its scaled_dot_product_attention and Hugging Face what is kept. So no tensor converts to
// a mask by itself; one of these functions says what it means, and `&` combines them:
//
//   attention(q, k, v, causal_mask() & length_mask({5, 3}));
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// Which keys each query may use, and what is added to the scores. The default masks nothing.
class AttentionMask {
 public:
  AttentionMask() = default;

  /// Whether causal_mask() is a part.
  bool causal() const { return causal_; }
  /// The window of window_mask(), if it is a part.
  std::optional<index_t> window() const { return window_; }
  /// (B) int64, from length_mask(); undefined if it is no part.
  const Tensor& lengths() const { return lengths_; }
  /// Bool, from keep_mask(); undefined if it is no part.
  const Tensor& keep() const { return keep_; }
  /// Floating, from additive_mask(); undefined if it is no part.
  const Tensor& bias() const { return bias_; }

  /// All its tensors, in one fixed order; undefined where a part is absent. So a backward can keep
  /// and replace them without knowing the parts.
  std::vector<Tensor> tensors() const;
  /// The same mask with these tensors, in the order of `tensors`, in place of its own.
  /// **Errors**: another number of tensors.
  AttentionMask with_tensors(std::span<const Tensor> tensors) const;

  /// Both masks apply: a key is used where both let it, so the smaller window and the smaller
  /// lengths stay, and additive masks add up.
  /// **Errors**: parts whose shapes do not broadcast.
  friend AttentionMask operator&(const AttentionMask& a, const AttentionMask& b);

  friend AttentionMask causal_mask();
  friend AttentionMask window_mask(index_t window);
  friend AttentionMask length_mask(const Tensor& lengths);
  friend AttentionMask keep_mask(const Tensor& keep);
  friend AttentionMask additive_mask(const Tensor& bias);

 private:
  bool causal_ = false;
  std::optional<index_t> window_;
  Tensor lengths_;  // (B), int64
  Tensor keep_;     // broadcastable to (B, H, Tq, Tk), bool: true takes part
  Tensor bias_;     // broadcastable to (B, H, Tq, Tk), floating
};

/// Query i uses keys j <= i, counted from the first of each (top-left aligned where Tq != Tk), as
/// `is_causal` of PyTorch's scaled_dot_product_attention.
AttentionMask causal_mask();

/// Local attention: query i uses keys |i - j| <= window, both counted from the first; with
/// causal_mask(), the `window` keys before it and its own. Attention then costs time in proportion
/// to T (2 window + 1), not to T^2. ModernBERT's `local_attention` is 2 window.
/// **Errors**: a negative window.
/// **Source**: Beltagy et al., "Longformer", 2020, section 3.1.
AttentionMask window_mask(index_t window);

/// Sequence b has lengths[b] keys; positions after that are padding.
/// **Shapes**: (B), int64. **Errors**: a different dtype or rank, a negative length; in attention, a
/// length above the number of keys.
AttentionMask length_mask(const Tensor& lengths);
AttentionMask length_mask(const std::vector<index_t>& lengths);

/// True where a key takes part: `attn_mask` of PyTorch's scaled_dot_product_attention.
/// **Shapes**: broadcastable to (B, H, Tq, Tk), bool. **Errors**: another dtype.
AttentionMask keep_mask(const Tensor& keep);

/// True where a key is ignored: a bool `attn_mask` of PyTorch's MultiheadAttention. Its 3-D form
/// (B H, Tq, Tk) becomes the 4-D one by `mask.unflatten(0, {B, H})`.
AttentionMask ignore_mask(const Tensor& ignore);

/// True where a key is a real token, for all queries: `attention_mask` of Hugging Face, as bool.
/// **Shapes**: (B, Tk), bool.
AttentionMask keep_keys_mask(const Tensor& keep);

/// True where a key is padding, for all queries: `key_padding_mask` of PyTorch's
/// MultiheadAttention.
/// **Shapes**: (B, Tk), bool.
AttentionMask ignore_keys_mask(const Tensor& ignore);

/// Added to the scaled scores before the softmax; -inf masks. +inf makes all weights of its row NaN,
/// as in softmax, unless another mask hides that key.
/// **Shapes**: broadcastable to (B, H, Tq, Tk), floating. **Errors**: another dtype.
AttentionMask additive_mask(const Tensor& bias);

}  // namespace tessera
