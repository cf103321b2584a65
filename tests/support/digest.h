// One number for all bits of a tensor, and the form in which tests record such numbers.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>

#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/tensor.h"

namespace tessera::test {

/// FNV-1a over the bytes of the elements, in row-major order. All NaNs are equal.
class Digest {
 public:
  Digest& add(const Tensor& x) {
    visit_dtype(x.dtype(), [&](auto kind) {
      using T = decltype(kind);
      const Tensor elements = x.detach().contiguous();
      const auto* const first = static_cast<const T*>(elements.untyped_data());
      for (index_t i = 0; i < x.count(); ++i) {
        T element = first[i];
        if constexpr (std::is_floating_point_v<T>) {
          if (std::isnan(element)) element = std::numeric_limits<T>::quiet_NaN();
        }
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&element);
        for (std::size_t b = 0; b < sizeof(T); ++b) hash_ = (hash_ ^ bytes[b]) * 0x100000001b3;
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

using DigestPair = std::array<std::string, 2>;  // of float32 and float64

/// The digests of one subject, the same with GCC and Clang. An intended change of bits changes
/// them.
struct WrittenDigests {
  DigestPair fused;    // with a fused multiply-add: AVX2, AVX-512, NEON
  DigestPair unfused;  // x86-64's baseline

  const std::string& of(DType dtype) const {
#if defined(__x86_64__)
    const bool is_fused = current_isa() != "baseline";
#else
    constexpr bool is_fused = true;
#endif
    return (is_fused ? fused : unfused)[dtype == kFloat32 ? 0 : 1];
  }
};

}  // namespace tessera::test
