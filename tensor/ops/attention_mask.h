// Masks for attention; their names state what true means.
//
// In a bool mask, true means an ignored key in PyTorch's MultiheadAttention, and a used key in
// PyTorch's scaled_dot_product_attention and in Hugging Face's models. So a tensor does not convert
// to a mask implicitly: the functions below state the meaning, and `&` combines masks:
//
//   attention(q, k, v, causal_mask() & length_mask({5, 3}));
//
// **Errors** of all functions that take a tensor: an undefined tensor.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The keys that each query may use, and the terms added to the scores. The default masks nothing.
/// In shapes, a batch has B sequences, H heads, Tq queries and Tk keys.
class AttentionMask {
 public:
  AttentionMask() = default;

  /// Whether causal_mask() is part of the mask.
  bool causal() const { return causal_; }
  /// The window of window_mask(), if it is part of the mask.
  std::optional<index_t> window() const { return window_; }
  /// (B) int64, from length_mask(); undefined if length_mask() is not part of the mask.
  const Tensor& lengths() const { return lengths_; }
  /// Bool, true for used keys, from keep_mask(), ignore_mask(), keep_keys_mask() and
  /// ignore_keys_mask(); undefined if none of them is part of the mask.
  const Tensor& keep() const { return keep_; }
  /// Floating, from additive_mask(); undefined if additive_mask() is not part of the mask.
  const Tensor& bias() const { return bias_; }

  /// All tensors of the mask, in one fixed order; undefined for absent parts. So a backward can
  /// save and replace the tensors without naming the parts.
  std::vector<Tensor> tensors() const;
  /// The same mask with its tensors replaced by these, in the order of `tensors`; an undefined
  /// tensor removes a part.
  /// **Errors**: a different number of tensors; a tensor of a different shape or kind of dtype; a
  /// negative length.
  AttentionMask with_tensors(std::span<const Tensor> tensors) const;

  /// A mask under which a key is used if both `a` and `b` allow the key: the smaller window and the
  /// smaller lengths apply. Additive masks are added up.
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
  Tensor keep_;     // broadcastable to (B, H, Tq, Tk), bool: true for used keys
  Tensor bias_;     // broadcastable to (B, H, Tq, Tk), floating
};

/// Query i uses the keys j <= i, where i and j count from 0, also if Tq != Tk.
/// **Source**: Vaswani et al., 2017, section 3.2.3; `is_causal` of
/// torch.nn.functional.scaled_dot_product_attention.
AttentionMask causal_mask();

/// Local attention: query i uses the keys j with |i - j| <= window, where i and j count from 0.
/// Together with causal_mask(), query i uses key i and the `window` keys before key i. For T
/// queries and T keys, attention with a window takes time proportional to T (2 window + 1), not to
/// T^2. ModernBERT's `local_attention` is 2 window.
/// **Errors**: a negative window.
/// **Source**: Beltagy et al., "Longformer", 2020, section 3.1.
AttentionMask window_mask(index_t window);

/// Sequence b has lengths[b] keys; the keys after these are padding.
/// **Shapes**: (B), int64. **Errors**: a different dtype or rank, a negative length; in attention,
/// a length above the number of keys.
AttentionMask length_mask(const Tensor& lengths);
AttentionMask length_mask(const std::vector<index_t>& lengths);

/// True for a key that is used.
/// **Shapes**: broadcastable to (B, H, Tq, Tk), bool. **Errors**: a different dtype.
/// **Source**: a bool `attn_mask` of torch.nn.functional.scaled_dot_product_attention.
AttentionMask keep_mask(const Tensor& keep);

/// True for a key that is ignored. PyTorch's 3-D mask (B H, Tq, Tk) becomes 4-D by
/// `mask.unflatten(0, {B, H})`. **Shapes**, **Errors**: as keep_mask.
/// **Source**: a bool `attn_mask` of torch.nn.MultiheadAttention.
AttentionMask ignore_mask(const Tensor& ignore);

/// True for a real token, for all queries.
/// **Shapes**: (B, Tk), bool. **Errors**: a different dtype or rank; in attention, a B or Tk of
/// different size, such as a mask (T, T) of queries and keys, unless B = T.
/// **Source**: `attention_mask` of transformers' models, as bool.
AttentionMask keep_keys_mask(const Tensor& keep);

/// True for padding, for all queries.
/// **Shapes**: (B, Tk), bool. **Errors**: a different dtype or rank; in attention, a B or Tk of
/// different size, such as a mask (T, T) of queries and keys, unless B = T.
/// **Source**: a bool `key_padding_mask` of torch.nn.MultiheadAttention.
AttentionMask ignore_keys_mask(const Tensor& ignore);

/// Added to the scaled scores before the softmax; -inf masks a key. +inf makes all weights of the
/// query NaN, as in softmax, unless another mask hides the key.
/// **Shapes**: broadcastable to (B, H, Tq, Tk), floating. **Errors**: a different dtype.
/// **Source**: a floating `attn_mask` of torch.nn.functional.scaled_dot_product_attention.
AttentionMask additive_mask(const Tensor& bias);

}  // namespace tessera
