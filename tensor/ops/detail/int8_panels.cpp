#include "tensor/ops/detail/int8_panels.h"

#include <atomic>
#include <cstring>

#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/detail/product_work.h"

namespace tessera::detail {

namespace {

/// The address `at` bytes after the beginning of a storage.
template <class T>
T* part_of(const Storage& memory, index_t at) {
  return reinterpret_cast<T*>(memory.data() + at);
}

/// The codes of each column of weight^T, with its scale and sum, in the layout of kernels/int8.h.
class Int8WeightPanels final : public WeightPanels {
 public:
  /// Room for the panels of a weight of this shape.
  Int8WeightPanels(const Shape& shape, PanelOrder order)
      : WeightPanels(shape, order, WeightFormat::kInt8),
        columns_(kernels::table().int8.columns(outputs(), is_gated())),
        groups_((shape[1] + kernels::kInt8Group - 1) / kernels::kInt8Group),
        bytes_(columns_ * (groups_ + 2) * kWord),
        memory_(Storage::allocate(bytes_)) {}

  /// Rounds the weight. **Errors**: inf or NaN.
  void pack(const Tensor& weight) {
    const kernels::MatrixRef<float> b = {weight.data<float>(), weight.strides()[1],
                                         weight.strides()[0]};
    const bool finite =
        kernels::table().int8.pack(shape()[1], outputs(), is_gated(), b, codes(), scales(), sums());
    require(finite, "weight", "elements ", shape(), " must be finite for int8, got inf or NaN");
  }

  Tensor values(index_t begin, index_t end) const override {
    const index_t width = this->width<float>();
    return read<float>(begin, end, [&](const Place& place, index_t p) {
      const index_t j = column_at(place);
      return static_cast<float>(codes()[kernels::int8_place(shape()[1], width, p, j)]) *
             scales()[j];
    });
  }

  /// Copies the codes: a row that is rounded again could get a different scale.
  std::shared_ptr<const WeightPanels> part(index_t begin, index_t end,
                                           PanelOrder order) const override {
    const auto made = std::make_shared<Int8WeightPanels>(Shape{end - begin, shape()[1]}, order);
    std::memset(made->memory_.data(), 0, static_cast<std::size_t>(made->bytes_));
    kernels::parallel_for(end - begin, groups_, [&](index_t first, index_t last) {
      for (index_t i = first; i < last; ++i) made->copy_row(i, *this, begin + i);
    });
    return made;
  }

  PanelFactor from_row(index_t first) const override {
    return kernels::Int8Panels{codes() + first * groups_ * kWord, scales() + first, sums() + first};
  }

 private:
  static constexpr index_t kWord = 4;  // bytes of a group, of a scale and of a sum

  bool is_gated() const { return order() == PanelOrder::kGated; }
  /// The columns of a product.
  index_t outputs() const { return is_gated() ? shape()[0] / 2 : shape()[0]; }
  index_t column_at(const Place& place) const {
    return (kernels::kPanelVectors * place.panel + place.vector) * lanes<float>() + place.lane;
  }
  index_t column_of(index_t row) const { return column_at(place_of(row, lanes<float>())); }

  void copy_row(index_t row, const Int8WeightPanels& from, index_t from_row) const {
    const index_t width = this->width<float>();
    const index_t to_j = column_of(row);
    const index_t from_j = from.column_of(from_row);
    for (index_t p = 0; p < groups_ * kWord; p += kWord) {
      std::memcpy(codes() + kernels::int8_place(shape()[1], width, p, to_j),
                  from.codes() + kernels::int8_place(shape()[1], width, p, from_j), kWord);
    }
    scales()[to_j] = from.scales()[from_j];
    sums()[to_j] = from.sums()[from_j];
  }

  std::int8_t* codes() const { return part_of<std::int8_t>(memory_, 0); }
  float* scales() const { return part_of<float>(memory_, columns_ * groups_ * kWord); }
  std::int32_t* sums() const {
    return part_of<std::int32_t>(memory_, columns_ * (groups_ + 1) * kWord);
  }

  index_t columns_;  // of all panels
  index_t groups_;   // of a column
  index_t bytes_;
  Storage memory_;
};

}  // namespace

bool is_finite(const Tensor& matrix) {
  const float* const x = matrix.data<float>();
  const index_t k = matrix.size(1);
  const index_t row = matrix.strides()[0];
  const index_t column = matrix.strides()[1];
  std::atomic<bool> all = true;
  kernels::parallel_for(matrix.size(0), k, [&](index_t begin, index_t end) {
    for (index_t i = begin; i < end && all; ++i) {
      if (!kernels::table().int8.is_finite(k, x + i * row, column)) all = false;
    }
  });
  return all;
}

std::shared_ptr<const WeightPanels> make_int8_panels(const Tensor& weight, PanelOrder order) {
  const auto panels = std::make_shared<Int8WeightPanels>(weight.shape(), order);
  panels->pack(weight);
  return panels;
}

void multiply_int8(const Tensor& x, const kernels::Int8Panels& weight,
                   const kernels::Epilogue<float>& epilogue, Tensor& out) {
  const auto& kernel = kernels::table().int8;
  const index_t m = x.size(0);
  const index_t k = x.size(1);
  const bool dots = kernels::dot_products();
  const index_t words = m * kernel.row_size(k, dots);
  const Storage memory = Storage::allocate((words + 2 * m) * index_t{4});
  const kernels::Int8Rows rows = {dots, part_of<std::uint32_t>(memory, 0),
                                  part_of<float>(memory, words * 4),
                                  part_of<std::int32_t>(memory, (words + m) * 4)};
  kernel.quantize_rows(m, k, {x.data<float>(), x.strides()[0], x.strides()[1]}, rows);
  const kernels::Int8Args args = {{.m = m,
                                   .n = out.size(1),
                                   .k = k,
                                   .c = {out.mutable_data<float>(), out.size(1)},
                                   .epilogue = epilogue,
                                   .workers = thread_count()},
                                  rows,
                                  weight};
  count_product<float>(args, sizeof(std::int8_t));
  kernel.gemm(args);
}

}  // namespace tessera::detail
