// A tensor's elements as sixteen digits, to compare bits with what is written down.
#pragma once

#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>

#include "tensor/tensor.h"

namespace tessera::test {

/// FNV-1a over the bytes of the elements, in row-major order.
inline std::string digest(const Tensor& x) {
  std::uint64_t hash = 0xcbf29ce484222325;
  visit_dtype(x.dtype(), [&](auto kind) {
    const Tensor elements = x.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(elements.untyped_data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.count()) * sizeof(kind); ++i) {
      hash = (hash ^ bytes[i]) * 0x100000001b3;
    }
  });
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

}  // namespace tessera::test
