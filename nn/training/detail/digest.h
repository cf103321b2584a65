// A short number that represents many, for comparisons; it is the same on every host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

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

}  // namespace tessera::nn
