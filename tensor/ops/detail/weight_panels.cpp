#include "tensor/ops/detail/weight_panels.h"

#include "tensor/kernels/table.h"
#include "tensor/ops/detail/int8_panels.h"

namespace tessera::detail {

namespace {

template <class T>
Storage pack(const Tensor& weight, PanelOrder order) {
  const auto& kernel = kernels::table().of<T>();
  const bool gated = order == PanelOrder::kGated;
  const index_t n = gated ? weight.size(0) / 2 : weight.size(0);
  const index_t k = weight.size(1);
  const index_t count = kernel.packed_size(k, gated ? kernel.gated_columns(n) : n);
  Storage made = Storage::allocate(count * static_cast<index_t>(sizeof(T)));
  const auto pack_b = gated ? kernel.pack_gated_b : kernel.pack_b;
  pack_b(k, n, {weight.data<T>(), weight.strides()[1], weight.strides()[0]},
         reinterpret_cast<T*>(made.data()));
  return made;
}

/// The elements themselves.
template <class T>
class ExactPanels final : public WeightPanels {
 public:
  ExactPanels(const Tensor& weight, PanelOrder order)
      : WeightPanels(weight.shape(), order, WeightFormat::kExact),
        memory_(pack<T>(weight, order)) {}

  Tensor values(index_t begin, index_t end) const override {
    const T* const from = elements();
    return read<T>(begin, end, [&, lanes = this->lanes<T>()](const Place& place, index_t p) {
      return from[(kernels::kPanelVectors * (place.panel * shape()[1] + p) + place.vector) * lanes +
                  place.lane];
    });
  }

  PanelFactor from_row(index_t first) const override {
    return kernels::SecondFactor<T>(elements() + first * shape()[1]);
  }

 private:
  const T* elements() const { return reinterpret_cast<const T*>(memory_.data()); }

  Storage memory_;
};

}  // namespace

WeightPanels::WeightPanels(const Shape& shape, PanelOrder order, WeightFormat format)
    : shape_(shape), order_(order), format_(format), table_(&kernels::table()) {}

bool WeightPanels::is_current() const {
  return table_ == &kernels::table();
}

WeightPanels::Place WeightPanels::place_of(index_t row, index_t lanes) const {
  if (order_ == PanelOrder::kPlain) {
    const index_t width = kernels::kPanelVectors * lanes;
    return {row / width, row % width / lanes, row % lanes};
  }
  const index_t half = shape_[0] / 2;
  return {row % half / lanes, row / half, row % half % lanes};
}

index_t panel_width(DType dtype) {
  return kernels::kPanelVectors * visit_floating(dtype, [](auto kind) {
           return kernels::table().of<decltype(kind)>().lanes;
         });
}

WeightFormat fitting_format(WeightFormat wanted, DType dtype, const Shape& shape) {
  if (dtype != kFloat32) return WeightFormat::kExact;
  const bool fits_int8 =
      shape.size() == 2 && shape[0] >= kFewestInt8Rows && shape[1] <= kernels::kInt8Depth;
  return wanted == WeightFormat::kInt8 && !fits_int8 ? WeightFormat::kExact : wanted;
}

std::shared_ptr<const WeightPanels> make_panels(const Tensor& weight, PanelOrder order,
                                                WeightFormat format) {
  if (format == WeightFormat::kInt8) return make_int8_panels(weight, order);
  return visit_floating(weight.dtype(), [&](auto kind) -> std::shared_ptr<const WeightPanels> {
    return std::make_shared<const ExactPanels<decltype(kind)>>(weight, order);
  });
}

}  // namespace tessera::detail
