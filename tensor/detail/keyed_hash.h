// Hashes of untrusted texts, into tables of our own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace tessera {

/// A hash function with a key of its own, so that no file can hold a thousand texts of which one
/// knows that they fall on the same place of a table. Places in tables depend on it, results must
/// not.
///
/// Each block of eight bytes is multiplied by a secret number to 128 bits, of which both halves
/// count: no difference of two texts goes through that with certainty.
/// **Source**: Wang Yi, "wyhash", 2019, of which this is only the principle.
class KeyedHash {
 public:
  /// With the key of this process, drawn once.
  KeyedHash() {
    static const Key drawn = draw();
    key_ = drawn;
  }

  std::uint64_t operator()(std::uint64_t block) const {
    return folded(block ^ key_.first, key_.second);
  }
  std::uint64_t operator()(std::string_view text) const {
    std::uint64_t hash = key_.first ^ text.size();
    for (; text.size() > 8; text.remove_prefix(8)) {
      std::uint64_t block = 0;
      std::memcpy(&block, text.data(), 8);
      hash = folded(hash ^ block, key_.second);
    }
    std::uint64_t block = 0;
    std::memcpy(&block, text.data(), text.size());
    return folded(hash ^ block, key_.second) ^ hash;
  }

 private:
  struct Key {
    std::uint64_t first, second;
  };
  static Key draw() {
    std::random_device device;
    const auto number = [&] { return std::uint64_t{device()} << 32 | device(); };
    return {number(), number() | 1};
  }
  __extension__ using Wide = unsigned __int128;
  static std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  Key key_;
};

}  // namespace tessera
