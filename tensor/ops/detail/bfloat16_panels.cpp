#include "tensor/ops/detail/bfloat16_panels.h"

namespace tessera::detail {

namespace {

/// The panels of float32 with elements of half the size, in the layout of kernels/bfloat16.h: a
/// word has one element of each of a panel's kPanelVectors vectors.
class BFloat16WeightPanels final : public WeightPanels {
 public:
  BFloat16WeightPanels(const Tensor& weight, PanelOrder order)
      : WeightPanels(weight.shape(), order, WeightFormat::kBFloat16),
        memory_(narrowed(pack_elements(weight, order))) {}

  Tensor values(index_t begin, index_t end) const override {
    const std::uint32_t* const from = words();
    return read<float>(
        begin, end, [&, lanes = this->lanes<float>()](const Place& place, index_t p) {
          const std::uint32_t word = from[(place.panel * shape()[1] + p) * lanes + place.lane];
          return from_bfloat16(static_cast<std::uint16_t>(word >> 16 * place.vector));
        });
  }

  /// The rows or the columns of x must be contiguous.
  Tensor operand(const Tensor& x) const override {
    return x.strides()[0] == 1 || x.strides()[1] == 1 ? x : x.contiguous();
  }

  PanelFactor from_row(index_t first) const override {
    return kernels::SecondFactor<float>(words() + first / kernels::kPanelVectors * shape()[1]);
  }

 private:
  const std::uint32_t* words() const {
    return reinterpret_cast<const std::uint32_t*>(memory_.data());
  }

  Storage narrowed(const PanelMemory& whole) const {
    const index_t bytes = whole.bytes / kernels::kPanelVectors;
    const index_t lanes = this->lanes<float>();
    Storage result = Storage::allocate(bytes);
    const auto* const from = reinterpret_cast<const float*>(whole.memory.data());
    auto* const to = reinterpret_cast<std::uint32_t*>(result.data());
    const index_t rows = bytes / static_cast<index_t>(sizeof(float)) / lanes;
    kernels::parallel_for(rows, 4 * lanes, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row) {
        for (index_t i = 0; i < lanes; ++i) {
          const float* const first = from + kernels::kPanelVectors * row * lanes + i;
          to[row * lanes + i] = to_bfloat16(first[0]) | std::uint32_t{to_bfloat16(first[lanes])}
                                                            << 16;
        }
      }
    });
    return result;
  }

  Storage memory_;
};

}  // namespace

std::shared_ptr<const WeightPanels> make_bfloat16_panels(const Tensor& weight, PanelOrder order) {
  return std::make_shared<const BFloat16WeightPanels>(weight, order);
}

}  // namespace tessera::detail
