// A weight's panels as memory: made, and read back. Private to the ops.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/kernels/table.h"
#include "tensor/ops/packed_weight.h"

namespace tessera::detail {

/// The nearest bfloat16, of two equally near ones the even one. NaN stays NaN, and is quiet; what is
/// nearer to 2^128 than to the largest number becomes infinite.
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

/// What panels are of, and for whom.
struct PanelLayout {
  Shape shape;  // of the weight, (out, in)
  PanelOrder order = PanelOrder::kPlain;
  WeightFormat format = WeightFormat::kExact;
  const kernels::KernelTable* table = nullptr;

  /// The columns of a panel of float32.
  index_t width() const { return 2 * table->vector_bytes / static_cast<index_t>(sizeof(float)); }
};

/// The panels of weight^T for the instruction set in use, and their size in bytes.
struct PanelMemory {
  Storage memory;
  index_t bytes = 0;
};
PanelMemory make_panels(const Tensor& weight, PanelOrder order, WeightFormat format);

/// Rows [begin, end) of the float32 weight that `panels` were made of: exact, or as it was rounded.
Tensor read_panels(const Storage& panels, const PanelLayout& layout, index_t begin, index_t end);

}  // namespace tessera::detail
