#include "models/padding.h"

#include <algorithm>

#include "tensor/create.h"
#include "tensor/error.h"

namespace tessera::models {

Packing::Packing(const Tensor& lengths, index_t tokens) : tokens_(tokens) {
  if (!lengths.defined()) return;
  const Tensor each = lengths.contiguous();
  const index_t* const length = each.data<index_t>();
  const bool all_whole = std::all_of(length, length + each.count(), [=](index_t n) {
    require(0 <= n && n <= tokens, "Packing", "lengths must be from 0 to ", tokens, ", got ", n);
    return n == tokens;
  });
  if (!all_whole) lengths_ = each;
}

Tensor Packing::pack(const Tensor& x) const {
  return *this ? pack_rows(x, lengths_).unsqueeze(0) : x;
}

Tensor Packing::unpack(const Tensor& y) const {
  return *this ? unpack_rows(y.squeeze(0), lengths_, tokens_) : y;
}

Tensor Packing::numbers(const Tensor& x) const {
  if (!*this || !x.defined()) return x;
  return pack(x.expand({lengths_.count(), tokens_}));
}

Tensor Packing::positions(const Tensor& given) const {
  return *this && !given.defined() ? numbers(arange(tokens_)) : numbers(given);
}

AttentionMask Packing::mask(const AttentionMask& of_padded) const {
  if (!*this) return of_padded;
  return of_padded.without_lengths() & packed_mask(lengths_, tokens_);
}

}  // namespace tessera::models
