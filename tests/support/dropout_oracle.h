// The definition of dropout's draws, one number at a time, and the factors of elements.
#pragma once

#include <cmath>
#include <cstdint>

#include "tessera/tensor/ops/dropout.h"

namespace tessera::test {

/// Draws of 16 bits by their positions.
class NaiveDropout {
 public:
  explicit NaiveDropout(const DropoutOptions& mask)
      : key_(mask.key), threshold_(static_cast<std::uint32_t>(std::floor(mask.p * 65536 + 0.5))) {}

  /// The factor of element number n of a tensor.
  double of_element(index_t n) const { return factor(0, 0, n / 32, n % 16, n / 16 % 2 == 1); }
  /// The factor of an attention weight.
  double of_weight(index_t batch, index_t head, index_t query, index_t key) const {
    return factor(batch, head, query, key / 2, key % 2 == 1);
  }

 private:
  static std::uint32_t word(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

  static std::uint32_t lowbias32(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7FEB352DU;
    x ^= x >> 15;
    x *= 0x846CA68BU;
    x ^= x >> 16;
    return x;
  }

  double factor(index_t batch, index_t head, index_t row, index_t column, bool high) const {
    std::uint32_t keys[4] = {0x243F6A88U, 0x85A308D3U, 0x13198A2EU, 0x03707344U};
    for (std::uint32_t& k : keys) {
      k = lowbias32(k ^ word(key_));
      k = lowbias32(k + word(key_ >> 32));
      k = lowbias32(k + static_cast<std::uint32_t>(batch));
      k = lowbias32(k + static_cast<std::uint32_t>(head));
    }
    const auto place = [&](index_t number, int first) {
      return lowbias32(lowbias32(static_cast<std::uint32_t>(number) ^ keys[first]) +
                       keys[first + 1]);
    };
    const std::uint32_t bits = lowbias32(place(row, 0) ^ place(column, 2));
    const std::uint32_t drawn = high ? bits >> 16 : bits & 0xFFFF;
    return drawn < threshold_ ? 0 : 65536.0 / (65536 - threshold_);
  }

  std::uint64_t key_;
  std::uint32_t threshold_;
};

}  // namespace tessera::test
