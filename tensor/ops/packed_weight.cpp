#include "tensor/ops/packed_weight.h"

#include <atomic>
#include <utility>

#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/ops/panels.h"

namespace tessera {

namespace {

std::atomic<bool> packing_is_on = true;
std::atomic<index_t> bytes_held = 0;

}  // namespace

struct PackedWeight::Pack {
  Tensor weight;  // keeps its memory from being given to another tensor
  std::uint64_t version;
  detail::PanelLayout layout;
  detail::PanelMemory panels;

  /// The panels of `values`, for `source`: the same tensor, or one that gave its elements up.
  Pack(const Tensor& source, const Tensor& values, PanelOrder order, WeightFormat format)
      : weight(source.detach()),
        version(source.storage().version()),
        layout{source.shape(), order, format, &kernels::table()},
        panels(detail::make_panels(values, order, format)) {
    bytes_held += panels.bytes;
  }
  /// The panels of another pack, of whose weight `source` takes the place.
  Pack(const Tensor& source, const Pack& other)
      : weight(source), version(0), layout(other.layout), panels(other.panels) {
    bytes_held += panels.bytes;
  }
  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;
  ~Pack() { bytes_held -= panels.bytes; }

  bool is_frozen() const { return !weight.has_elements(); }
  bool fits(PanelOrder order, WeightFormat format) const {
    return layout.order == order && layout.format == format && layout.table == &kernels::table();
  }
  bool is_of(const Tensor& other) const {
    return weight.storage() == other.storage() && version == other.storage().version() &&
           weight.offset() == other.offset() && weight.shape() == other.shape() &&
           weight.strides() == other.strides();
  }
  /// Whether `other` is rows of this frozen weight, or all of it.
  bool has_rows(const Tensor& other) const {
    return is_frozen() && weight.storage() == other.storage() && other.rank() == 2 &&
           other.size(1) == weight.size(1) && (other.strides() == weight.strides());
  }
  index_t first_row(const Tensor& rows) const {
    return weight.size(1) == 0 ? 0 : (rows.offset() - weight.offset()) / weight.size(1);
  }
  Tensor values(index_t begin, index_t end) const {
    return detail::read_panels(panels.memory, layout, begin, end);
  }
};

std::shared_ptr<const PackedWeight::Pack> PackedWeight::frozen(const Tensor& weight) const {
  std::shared_ptr<const Pack> pack = pack_.load();
  return pack && pack->has_rows(weight) ? pack : nullptr;
}

PackedWeight::PackedWeight(const PackedWeight& other) : format_(other.format_) {
  std::shared_ptr<const Pack> pack = other.pack_.load();
  if (pack && pack->is_frozen()) pack_.store(std::move(pack));
}

PackedWeight& PackedWeight::operator=(const PackedWeight& other) {
  std::shared_ptr<const Pack> pack = other.pack_.load();
  pack_.store(pack && pack->is_frozen() ? pack : nullptr);
  format_ = other.format_;
  return *this;
}

WeightFormat PackedWeight::format_of(const Tensor& weight) const {
  return weight.dtype() == kFloat32 ? format_ : WeightFormat::kExact;
}

bool PackedWeight::is_constant(const Tensor& weight) const {
  return format_of(weight) != WeightFormat::kExact || frozen(weight) != nullptr;
}

WeightPanels PackedWeight::frozen_panels(const Pack& pack, const Tensor& weight,
                                         PanelOrder order) const {
  const WeightFormat format = pack.layout.format;
  const index_t first = pack.first_row(weight);
  const index_t width = pack.layout.width();
  const bool is_whole = weight.shape() == pack.weight.shape();
  const bool is_aligned = order == PanelOrder::kPlain && first % width == 0;
  if (pack.fits(order, format) && (is_whole || is_aligned)) {
    const index_t panel_bytes =
        width * weight.size(1) *
        static_cast<index_t>(format == WeightFormat::kExact ? sizeof(float) : sizeof(float) / 2);
    return {pack.panels.memory, format, first / width * panel_bytes};
  }
  const Tensor values = pack.values(first, first + weight.size(0));
  if (!is_whole) return {detail::make_panels(values, order, format).memory, format};
  const auto again = std::make_shared<const Pack>(pack.weight, values, order, format);
  pack_.store(again);
  return {again->panels.memory, format};
}

WeightPanels PackedWeight::panels(const Tensor& weight, PanelOrder order) const {
  std::shared_ptr<const Pack> pack = pack_.load();
  if (pack && pack->has_rows(weight)) return frozen_panels(*pack, weight, order);
  const WeightFormat format = format_of(weight);
  if (!packing_is_on && format == WeightFormat::kExact) {
    pack_.store(nullptr);
    return {};
  }
  if (!pack || !pack->is_of(weight) || !pack->fits(order, format)) {
    pack.reset();
    pack_.store(nullptr);  // gives the old panels' memory back first
    pack = std::make_shared<const Pack>(weight, weight, order, format);
    pack_.store(pack);
  }
  return {pack->panels.memory, format};
}

void PackedWeight::freeze(Tensor& weight, WeightFormat format, PanelOrder order) {
  require(weight.defined() && weight.rank() == 2 && weight.dtype() == kFloat32, "freeze",
          "weight must be a float32 matrix, got ", weight.dtype(), ' ', weight.shape());
  std::shared_ptr<const Pack> pack = pack_.load();
  if (frozen(weight)) {
    if (pack->layout.format == format) return;
    thaw(weight);
    pack = nullptr;
  }
  format_ = WeightFormat::kExact;
  if (!pack || !pack->is_of(weight) || !pack->fits(order, format)) {
    pack_.store(nullptr);
    pack = std::make_shared<const Pack>(weight, weight, order, format);
  }
  const Tensor hollow = Tensor::without_elements(weight.shape(), weight.dtype(),
                                                 "the weight is frozen; call thaw() first");
  pack_.store(std::make_shared<const Pack>(hollow, *pack));
  weight = hollow;
}

void PackedWeight::thaw(Tensor& weight) {
  const std::shared_ptr<const Pack> pack = frozen(weight);
  if (!pack) return;
  weight = pack->values(0, weight.size(0));
  pack_.store(nullptr);
}

void set_weight_packing(bool on) {
  packing_is_on = on;
}

index_t packed_weight_bytes() {
  return bytes_held;
}

}  // namespace tessera
