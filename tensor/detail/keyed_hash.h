// Hashes of untrusted texts for hash tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace tessera {

/// A hash function with a secret random key, so that no file can contain many texts that are known
/// to collide. Positions in hash tables depend on the key; results must not.
///
/// Each block of eight bytes is multiplied by a secret number to 128 bits, and both halves are
/// used: no difference between two texts is certain to cancel.
/// **Source**: Wang Yi, "wyhash", 2019; only the principle is used.
class KeyedHash {
 public:
  /// Uses the key of this process, drawn once.
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
