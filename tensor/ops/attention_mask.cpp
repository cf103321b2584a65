#include "tessera/tensor/ops/attention_mask.h"

#include <algorithm>
#include <cstddef>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"

namespace tessera {

namespace {

/// `combine(a, b)`, or the only one that is present.
template <class Combine>
Tensor both(const Tensor& a, const Tensor& b, const Combine& combine) {
  if (!a.defined()) return b;
  return b.defined() ? combine(a, b) : a;
}

Tensor for_all_queries(const char* op, const Tensor& keys) {
  require(keys.rank() == 2, op, "mask must have shape (B, Tk), got ", keys.shape(),
          "; for other shapes call keep_mask() or ignore_mask()");
  return keys.unsqueeze(1).unsqueeze(1);
}

void require_bool(const char* op, const Tensor& mask) {
  require(mask.defined(), op, "mask must be a bool tensor, got an undefined one");
  require(mask.dtype() == kBool, op, "mask must be a bool tensor, got ", mask.dtype());
}

/// The lengths in adjacent memory, as kernels read them. Throws if one is negative.
Tensor checked_lengths(const char* op, const Tensor& lengths) {
  Tensor result = lengths.contiguous();
  const auto count = static_cast<std::size_t>(result.count());
  for (const index_t length : std::span(result.data<index_t>(), count)) {
    require(length >= 0, op, "lengths must be at least 0, got ", length);
  }
  return result;
}

}  // namespace

std::vector<Tensor> AttentionMask::tensors() const {
  return {lengths_, keep_, bias_};
}

AttentionMask AttentionMask::with_tensors(std::span<const Tensor> tensors) const {
  AttentionMask result = *this;
  const std::vector<Tensor*> parts = {&result.lengths_, &result.keep_, &result.bias_};
  require(tensors.size() == parts.size(), "with_tensors", "list must have ", parts.size(),
          " tensors, got ", tensors.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Tensor& given = tensors[i];
    Tensor& part = *parts[i];
    const bool same_kind =
        given.dtype() == part.dtype() || (is_floating(given.dtype()) && is_floating(part.dtype()));
    require(!given.defined() || (part.defined() && same_kind && given.shape() == part.shape()),
            "with_tensors", "tensor ", i, " must be ", part.dtype(), ' ', part.shape(),
            " as in the mask, or undefined, got ", given.dtype(), ' ', given.shape());
    part = given;
  }
  if (result.lengths_.defined()) {
    result.lengths_ = checked_lengths("with_tensors", result.lengths_);
  }
  return result;
}

AttentionMask operator&(const AttentionMask& a, const AttentionMask& b) {
  AttentionMask result;
  result.causal_ = a.causal_ || b.causal_;
  result.window_ = a.window_ && b.window_ ? std::min(*a.window_, *b.window_)
                   : a.window_            ? a.window_
                                          : b.window_;
  result.lengths_ = both(a.lengths_, b.lengths_, minimum);
  result.keep_ = both(a.keep_, b.keep_, logical_and);
  result.bias_ = both(a.bias_, b.bias_, add);
  return result;
}

AttentionMask causal_mask() {
  AttentionMask mask;
  mask.causal_ = true;
  return mask;
}

AttentionMask window_mask(index_t window) {
  require(window >= 0, "window_mask", "window must be at least 0, got ", window);
  AttentionMask mask;
  mask.window_ = window;
  return mask;
}

AttentionMask length_mask(const Tensor& lengths) {
  require(lengths.defined(), "length_mask",
          "lengths must be int64 of shape (B), got an undefined tensor");
  require(lengths.dtype() == kInt64 && lengths.rank() == 1, "length_mask",
          "lengths must be int64 of shape (B), got ", lengths.dtype(), ' ', lengths.shape());
  AttentionMask mask;
  mask.lengths_ = checked_lengths("length_mask", lengths);
  return mask;
}

AttentionMask length_mask(const std::vector<index_t>& lengths) {
  return length_mask(from_vector(lengths));
}

AttentionMask keep_mask(const Tensor& keep) {
  require_bool("keep_mask", keep);
  AttentionMask mask;
  mask.keep_ = keep;
  return mask;
}

AttentionMask ignore_mask(const Tensor& ignore) {
  require_bool("ignore_mask", ignore);
  return keep_mask(logical_not(ignore));
}

AttentionMask keep_keys_mask(const Tensor& keep) {
  require_bool("keep_keys_mask", keep);
  return keep_mask(for_all_queries("keep_keys_mask", keep));
}

AttentionMask ignore_keys_mask(const Tensor& ignore) {
  require_bool("ignore_keys_mask", ignore);
  return ignore_mask(for_all_queries("ignore_keys_mask", ignore));
}

AttentionMask additive_mask(const Tensor& bias) {
  require(bias.defined(), "additive_mask", "bias must be defined, got an undefined tensor");
  require(is_floating(bias.dtype()), "additive_mask", "bias must have a floating dtype, got ",
          bias.dtype(), "; for a bool mask call keep_mask() or ignore_mask()");
  AttentionMask mask;
  mask.bias_ = bias;
  return mask;
}

}  // namespace tessera
