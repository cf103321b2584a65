// One number for all bits of a tensor.
#pragma once

#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>

#include "tensor/tensor.h"

namespace tessera::test {

/// FNV-1a over the bytes of the elements, in row-major order.
class Digest {
 public:
  Digest& add(const Tensor& x) {
    visit_dtype(x.dtype(), [&](auto kind) {
      const Tensor elements = x.detach().contiguous();
      const auto* bytes = static_cast<const unsigned char*>(elements.untyped_data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(x.count()) * sizeof(kind); ++i) {
        hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
      }
    });
    return *this;
  }

  std::string text() const {
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << hash_;
    return text.str();
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

inline std::string digest(const Tensor& x) {
  return Digest().add(x).text();
}

}  // namespace tessera::test
