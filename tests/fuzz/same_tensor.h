// Whether two tensors are the same, to the bit.
#pragma once

#include <cstring>

#include "tessera/tensor/tensor.h"

namespace tessera::test {

inline bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined() || a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    return false;
  }
  const Tensor x = a.contiguous();
  const Tensor y = b.contiguous();
  const auto bytes = static_cast<std::size_t>(x.count() * item_size(x.dtype()));
  return bytes == 0 || std::memcmp(x.untyped_data(), y.untyped_data(), bytes) == 0;
}

}  // namespace tessera::test
