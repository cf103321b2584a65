// A short number that represents many, for comparisons; it is the same on every host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// FNV-1a on blocks of eight bytes. It detects mistakes, not attacks.
/// **Source**: Fowler, Noll and Vo, 1991.
class Digest {
 public:
  void add(std::uint64_t block) { value_ = (value_ ^ block) * 1099511628211ULL; }
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t block = 0;
      const std::size_t size = std::min(bytes.size(), sizeof(block));
      std::memcpy(&block, bytes.data(), size);
      add(block ^ block >> 32);  // a product never moves high bits to low ones
      bytes = bytes.subspan(size);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

/// The digest of a tensor's dtype, shape and elements.
inline std::uint64_t digest_of(const Tensor& x) {
  const Tensor rows = x.contiguous();
  Digest digest;
  digest.add(static_cast<std::uint64_t>(x.dtype()));
  for (index_t axis = 0; axis < x.rank(); ++axis) {
    digest.add(static_cast<std::uint64_t>(x.size(axis)));
  }
  const auto bytes = static_cast<std::size_t>(rows.count() * item_size(rows.dtype()));
  digest.add(std::span(static_cast<const std::byte*>(rows.untyped_data()), bytes));
  return digest.value();
}

}  // namespace tessera::nn
