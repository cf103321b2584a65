#include "tensor/ops/detail/int8_panels.h"

#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"

namespace tessera::detail {

namespace {

/// `count` elements behind `at` bytes of a storage.
template <class T>
T* part_of(const Storage& memory, index_t at) {
  return reinterpret_cast<T*>(memory.data() + at);
}

/// The codes of each column of weight^T, and its scale and sum, as kernels/int8.h has them.
class Int8WeightPanels final : public WeightPanels {
 public:
  Int8WeightPanels(const Tensor& weight, PanelOrder order)
      : WeightPanels(weight.shape(), order, WeightFormat::kInt8), kernel_(kernels::table().int8) {
    const bool gated = order == PanelOrder::kGated;
    const index_t n = gated ? weight.size(0) / 2 : weight.size(0);
    const index_t k = weight.size(1);
    columns_ = kernel_.columns(n, gated);
    depth_ = (k + kernels::kInt8Group - 1) / kernels::kInt8Group * kernels::kInt8Group;
    memory_ = Storage::allocate(columns_ * (depth_ + 2 * kWord));
    const kernels::MatrixRef<float> b = {weight.data<float>(), weight.strides()[1],
                                         weight.strides()[0]};
    const bool finite = kernel_.pack(k, n, gated, b, codes(), scales(), sums());
    require(finite, "freeze", "weight ", weight.shape(),
            " must be finite for int8, got inf or NaN");
  }

  Tensor values(index_t begin, index_t end) const override {
    const index_t lanes = this->lanes<float>();
    return read<float>(begin, end, [&](const Place& place, index_t p) {
      const index_t j = (2 * place.panel + place.vector) * lanes + place.lane;
      return static_cast<float>(codes()[kernels::int8_place(shape()[1], 2 * lanes, p, j)]) *
             scales()[j];
    });
  }

  PanelFactor factor(index_t first) const override {
    return kernels::Int8Panels{codes() + first * depth_, scales() + first, sums() + first};
  }

 private:
  static constexpr index_t kWord = 4;

  std::int8_t* codes() const { return part_of<std::int8_t>(memory_, 0); }
  float* scales() const { return part_of<float>(memory_, columns_ * depth_); }
  std::int32_t* sums() const { return part_of<std::int32_t>(memory_, columns_ * (depth_ + kWord)); }

  const kernels::Int8Kernels& kernel_;
  index_t columns_ = 0;  // of all panels
  index_t depth_ = 0;    // bytes of a column
  Storage memory_;
};

}  // namespace

std::shared_ptr<const WeightPanels> make_int8_panels(const Tensor& weight, PanelOrder order) {
  return std::make_shared<const Int8WeightPanels>(weight, order);
}

void multiply_int8(const Tensor& x, const kernels::Int8Panels& weight,
                   const kernels::Epilogue<float>& epilogue, Tensor& out) {
  const auto& kernel = kernels::table().int8;
  const index_t m = x.size(0);
  const index_t k = x.size(1);
  const index_t words = m * kernel.row_size(k);
  const Storage memory = Storage::allocate((words + 2 * m) * index_t{4});
  const kernels::Int8Rows rows = {part_of<std::uint32_t>(memory, 0),
                                  part_of<float>(memory, words * 4),
                                  part_of<std::int32_t>(memory, (words + m) * 4)};
  const bool finite =
      kernel.quantize_rows(m, k, {x.data<float>(), x.strides()[0], x.strides()[1]}, rows);
  require(finite, "linear", "x must be finite for a weight in int8, got inf or NaN");
  kernel.gemm({.m = m,
               .n = out.size(1),
               .k = k,
               .a = rows,
               .b = weight,
               .c = {out.mutable_data<float>(), out.size(1)},
               .epilogue = epilogue,
               .workers = thread_count()});
}

}  // namespace tessera::detail
