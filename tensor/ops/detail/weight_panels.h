// A weight's panels: made, passed to the kernels, and read back. Private to the ops.
//
// To add a format: a value of WeightFormat; a class derived from WeightPanels in its own file, such
// as int8_panels.cpp; its case in make_panels; a kernel that reads the panels. If only some
// weights can have the format, add the rule to fitting_format. If a product by the panels and a
// product by their values() differ in bits, as in int8, override part(). Modules, nn::freeze and the
// ops of products need no change.
#pragma once

#include <memory>
#include <variant>

#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

namespace tessera::detail {

/// The order of a weight's rows in panels: kPlain is their own order; kGated puts row i of the
/// first half next to row i of the second half.
enum class PanelOrder { kPlain, kGated };

/// Panels as the kernels of one element type read them.
using PanelFactor =
    std::variant<kernels::SecondFactor<float>, kernels::SecondFactor<double>, kernels::Int8Panels>;

/// weight^T in panels, as the kernels of one instruction set read it. Panels never change.
class WeightPanels {
 public:
  virtual ~WeightPanels() = default;
  WeightPanels(const WeightPanels&) = delete;
  WeightPanels& operator=(const WeightPanels&) = delete;

  /// The shape of the weight, (out, in).
  const Shape& shape() const { return shape_; }
  PanelOrder order() const { return order_; }
  WeightFormat format() const { return format_; }
  /// Whether the panels are for the instruction set in use.
  bool is_current() const;

  /// Rows [begin, end) of the weight: exact, or as the format rounded them.
  virtual Tensor values(index_t begin, index_t end) const = 0;
  /// Rows [begin, end) as new panels in `order`; null if a product by values(begin, end) has the
  /// same bits as a product by such panels.
  virtual std::shared_ptr<const WeightPanels> part(index_t /*begin*/, index_t /*end*/,
                                                   PanelOrder /*order*/) const {
    return nullptr;
  }
  /// The panels from row `first` of the weight on. A panel must begin at that row.
  virtual PanelFactor from_row(index_t first) const = 0;

 protected:
  WeightPanels(const Shape& shape, PanelOrder order, WeightFormat format);

  /// The position of a weight's row: the panel, which of its two vectors, the lane.
  struct Place {
    index_t panel, vector, lane;
  };
  Place place_of(index_t row, index_t lanes) const;

  template <class T>
  index_t lanes() const {
    return table_->of<T>().lanes;
  }
  /// The columns of a panel.
  template <class T>
  index_t width() const {
    return kernels::kPanelVectors * lanes<T>();
  }

  /// Rows [begin, end), with `element(place, p)` in column p.
  template <class T, class F>
  Tensor read(index_t begin, index_t end, const F& element) const {
    const index_t k = shape_[1];
    Tensor rows = Tensor::empty({end - begin, k}, dtype_of<T>);
    T* const to = rows.mutable_data<T>();
    kernels::parallel_for(end - begin, 2 * k, [&](index_t first, index_t last) {
      for (index_t i = first; i < last; ++i) {
        const Place place = place_of(begin + i, lanes<T>());
        for (index_t p = 0; p < k; ++p) to[i * k + p] = element(place, p);
      }
    });
    return rows;
  }

 private:
  Shape shape_;
  PanelOrder order_;
  WeightFormat format_;
  const kernels::KernelTable* table_;
};

/// `wanted`, or kExact if the weight cannot have that format.
WeightFormat fitting_format(WeightFormat wanted, DType dtype, const Shape& shape);

/// The panels of a matrix for the instruction set in use.
std::shared_ptr<const WeightPanels> make_panels(const Tensor& weight, PanelOrder order,
                                                WeightFormat format);

/// The rows of a weight in one panel.
index_t panel_width(DType dtype);

/// The weight as one product reads it: panels from a row on, or elements.
struct Factor {
  std::shared_ptr<const WeightPanels> panels = {};
  index_t first_row = 0;
  Tensor elements = {};  // (out, in), if there are no panels
};

}  // namespace tessera::detail
