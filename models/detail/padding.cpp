#include "models/detail/padding.h"

#include <algorithm>

#include "tensor/create.h"

namespace tessera::models {

PackedRows packing_of(const Tensor& lengths, index_t tokens) {
  if (!lengths.defined()) return {};
  const PackedRows packed(lengths, tokens);
  return packed.rows() == packed.batch() * tokens ? PackedRows() : packed;
}

Tensor pack_numbers(const PackedRows& packed, const Tensor& x) {
  if (!packed || !x.defined()) return x;
  return packed.pack(x.expand({packed.batch(), packed.tokens()}));
}

Tensor pack_positions(const PackedRows& packed, const Tensor& given) {
  const bool counted = packed && !given.defined();
  return pack_numbers(packed, counted ? arange(packed.tokens()) : given);
}

}  // namespace tessera::models
