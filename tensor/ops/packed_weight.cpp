#include "tensor/ops/packed_weight.h"

#include "tensor/kernels/dispatch.h"

namespace tessera {

namespace {

std::atomic<bool> packing_is_on = true;
std::atomic<index_t> bytes_held = 0;

template <class T>
Tensor pack(const Tensor& weight, PanelOrder order) {
  const auto& kernel = kernels::table().of<T>();
  const bool gated = order == PanelOrder::kGated;
  const index_t n = gated ? weight.size(0) / 2 : weight.size(0);
  const index_t k = weight.size(1);
  const index_t columns = gated ? kernel.gated_columns(n) : n;
  Tensor panels = Tensor::empty({kernel.packed_size(k, columns)}, dtype_of<T>);
  const auto pack_b = gated ? kernel.pack_gated_b : kernel.pack_b;
  pack_b(k, n, weight.data<T>(), weight.strides()[1], weight.strides()[0],
         panels.mutable_data<T>());
  return panels;
}

}  // namespace

struct PackedWeight::Pack {
  Tensor weight;  // keeps its memory from being given to another tensor
  std::uint64_t version;
  PanelOrder order;
  const kernels::KernelTable* table;
  Tensor panels;

  Pack(const Tensor& source, std::uint64_t source_version, PanelOrder panel_order)
      : weight(source.detach()),
        version(source_version),
        order(panel_order),
        table(&kernels::table()) {
    panels = visit_floating(source.dtype(),
                            [&](auto kind) { return pack<decltype(kind)>(source, order); });
    bytes_held += bytes();
  }
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;
  ~Pack() { bytes_held -= bytes(); }

  index_t bytes() const { return panels.count() * item_size(panels.dtype()); }
  bool is_of(const Tensor& other, PanelOrder wanted) const {
    return order == wanted && weight.storage() == other.storage() &&
           version == other.storage().version() && weight.offset() == other.offset() &&
           weight.shape() == other.shape() && weight.strides() == other.strides() &&
           table == &kernels::table();
  }
};

PackedWeight& PackedWeight::operator=(const PackedWeight&) {
  pack_.store(nullptr);
  return *this;
}

Tensor PackedWeight::panels(const Tensor& weight, PanelOrder order) const {
  if (!packing_is_on) {
    pack_.store(nullptr);
    return {};
  }
  std::shared_ptr<const Pack> pack = pack_.load();
  if (!pack || !pack->is_of(weight, order)) {
    pack_.store(nullptr);  // gives the old panels' memory back first
    pack = std::make_shared<const Pack>(weight, weight.storage().version(), order);
    pack_.store(pack);
  }
  return pack->panels;
}

void set_weight_packing(bool on) {
  packing_is_on = on;
}

index_t packed_weight_bytes() {
  return bytes_held;
}

}  // namespace tessera
