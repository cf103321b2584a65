// Panels of bfloat16. Private to the ops.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "tensor/ops/detail/weight_panels.h"

namespace tessera::detail {

/// The nearest bfloat16, ties to even. NaN becomes a quiet NaN; numbers nearer to 2^128 than to the
/// largest bfloat16 become infinite.
inline std::uint16_t to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  constexpr std::uint32_t kQuiet = 0x00400000U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
  return static_cast<std::uint16_t>((is_nan ? bits | kQuiet : rounded) >> 16);
}

inline float from_bfloat16(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}

/// The panels of a float32 matrix.
std::shared_ptr<const WeightPanels> make_bfloat16_panels(const Tensor& weight, PanelOrder order);

}  // namespace tessera::detail
