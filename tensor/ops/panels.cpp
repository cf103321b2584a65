#include "tensor/ops/panels.h"

#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::detail {

namespace {

/// Elements of panels, as T.
template <class T>
T* elements(const Storage& memory) {
  return reinterpret_cast<T*>(memory.data());
}

template <class T>
PanelMemory make(const Tensor& weight, PanelOrder order) {
  const auto& kernel = kernels::table().of<T>();
  const bool gated = order == PanelOrder::kGated;
  const index_t n = gated ? weight.size(0) / 2 : weight.size(0);
  const index_t k = weight.size(1);
  const index_t count = kernel.packed_size(k, gated ? kernel.gated_columns(n) : n);
  const index_t bytes = count * static_cast<index_t>(sizeof(T));
  PanelMemory made = {Storage::allocate(bytes), bytes};
  const auto pack_b = gated ? kernel.pack_gated_b : kernel.pack_b;
  pack_b(k, n, weight.data<T>(), weight.strides()[1], weight.strides()[0],
         elements<T>(made.memory));
  return made;
}

/// The same panels with elements of half the size, two to a word, as kernels/bfloat16.h has them.
PanelMemory halve(const PanelMemory& whole) {
  const index_t lanes = kernels::table().vector_bytes / static_cast<index_t>(sizeof(float));
  PanelMemory halves = {Storage::allocate(whole.bytes / 2), whole.bytes / 2};
  const auto* const from = elements<const float>(whole.memory);
  auto* const to = elements<std::uint32_t>(halves.memory);
  const index_t rows = halves.bytes / static_cast<index_t>(sizeof(float)) / lanes;
  kernels::parallel_for(rows, 4 * lanes, [&](index_t begin, index_t end) {
    for (index_t row = begin; row < end; ++row) {
      for (index_t i = 0; i < lanes; ++i) {
        const float* const first = from + 2 * row * lanes + i;
        to[row * lanes + i] = to_bfloat16(first[0]) | std::uint32_t{to_bfloat16(first[lanes])}
                                                          << 16;
      }
    }
  });
  return halves;
}

/// Where a row of the weight lies: the panel, which of its two vectors, the lane.
struct Place {
  index_t panel, vector, lane;
};

Place place_of(const PanelLayout& layout, index_t row) {
  const index_t lanes = layout.width() / 2;
  if (layout.order == PanelOrder::kPlain) {
    return {row / layout.width(), row % layout.width() / lanes, row % lanes};
  }
  const index_t half = layout.shape[0] / 2;
  return {row % half / lanes, row / half, row % half % lanes};
}

}  // namespace

PanelMemory make_panels(const Tensor& weight, PanelOrder order, WeightFormat format) {
  PanelMemory made = visit_floating(weight.dtype(),
                                    [&](auto kind) { return make<decltype(kind)>(weight, order); });
  return format == WeightFormat::kBFloat16 ? halve(made) : made;
}

Tensor read_panels(const Storage& panels, const PanelLayout& layout, index_t begin, index_t end) {
  const index_t k = layout.shape[1];
  const index_t lanes = layout.width() / 2;
  Tensor weight = Tensor::empty({end - begin, k});
  auto* const to = weight.mutable_data<float>();
  const auto* const floats = elements<const float>(panels);
  const auto* const words = elements<const std::uint32_t>(panels);
  kernels::parallel_for(end - begin, 2 * k, [&](index_t first, index_t last) {
    for (index_t i = first; i < last; ++i) {
      const auto [panel, vector, lane] = place_of(layout, begin + i);
      for (index_t p = 0; p < k; ++p) {
        const index_t vectors = panel * k + p;
        to[i * k + p] = layout.format == WeightFormat::kExact
                            ? floats[(2 * vectors + vector) * lanes + lane]
                            : from_bfloat16(static_cast<std::uint16_t>(
                                  words[vectors * lanes + lane] >> 16 * vector));
      }
    }
  });
  return weight;
}

}  // namespace tessera::detail
