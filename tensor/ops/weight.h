// The matrix that a linear layer multiplies by, and the forms that it can have.
//
//   Weight weight = xavier_uniform({out, in});
//   Tensor y = linear(x, weight, bias);                  // packs the weight, once
//   weight = weight.frozen(WeightFormat::kBFloat16);     // from here on only packed
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tensor/atomic_shared.h"
#include "tensor/tensor.h"

namespace tessera {

/// What products read: the weight's own elements, or, of a float32 weight, those rounded to
/// bfloat16, the upper half of a float32. Products and sums are float32's either way.
enum class WeightFormat { kExact, kBFloat16 };

namespace detail {

class Panels;
struct Factor;

/// How the rows of a weight are dealt to panels: in their order, or those of the first and the second
/// half that belong together side by side.
enum class PanelOrder { kPlain, kGated };

}  // namespace detail

struct WeightView;

/// A matrix (out, in) of which products read panels, a layout for the instruction set in use. It has
/// one of two forms: elements, from which panels are made when a product needs them and again when
/// the elements have changed; or, frozen, only panels.
///
/// With elements it is as good as that Tensor: it converts to one, and `weight->grad()` and
/// `*weight = tensor` reach it. Frozen, it has a shape but no elements, and no gradient passes. A copy
/// shares elements and frozen panels.
///
/// Several threads may multiply by one weight, but not while another changes it.
class Weight {
 public:
  /// No weight: `defined()` is false.
  Weight() = default;
  /// For linear().
  Weight(Tensor elements) : elements_(std::move(elements)) {}
  /// For gated_linear().
  static Weight gated(Tensor elements);
  /// For linear() and for readers of rows, such as an embedding: it is never without elements.
  static Weight table(Tensor elements);

  /// Puts other elements in the place of elements or panels, for the same products.
  Weight& operator=(Tensor elements);

  bool defined() const { return is_frozen() || elements_.defined(); }
  const Shape& shape() const;
  index_t size(index_t axis) const;
  index_t rank() const { return shape().size(); }
  index_t count() const;
  DType dtype() const;

  // The elements. Errors: the weight is frozen.
  Tensor& operator*();
  const Tensor& operator*() const;
  Tensor* operator->() { return &**this; }
  const Tensor* operator->() const { return &**this; }
  operator const Tensor&() const { return **this; }

  /// Rows [begin, end), to multiply by: where a panel begins at the first, the panels of the whole
  /// weight serve. For one expression: the weight must outlive it.
  WeightView rows(index_t begin, index_t end) const;

  // ---- forms ----

  bool is_table() const { return is_table_; }
  /// Whether there are only panels.
  bool is_frozen() const { return frozen_ != nullptr; }
  /// Whether no gradient passes: the weight is frozen, or products read rounded elements.
  bool is_constant() const;
  /// Whether both are one weight: they have the same elements or the same frozen panels, for the
  /// same products.
  bool is_same(const Weight& other) const;

  /// The weight in panels of `format` only; a table as in_format(). Of a frozen weight, what it has
  /// become, in another format. **Errors**: anything but a float32 matrix.
  Weight frozen(WeightFormat format) const;
  /// A frozen weight with its elements again, as its format rounded them; others with exact panels.
  Weight thawed() const;
  /// A weight that keeps its elements, with panels in `format`.
  Weight in_format(WeightFormat format) const;

 private:
  friend struct WeightView;
  struct Kept;
  /// Panels for the next product. A copy starts without.
  struct Cache : AtomicShared<const Kept> {
    Cache() = default;
    Cache(const Cache&) {}
    Cache& operator=(const Cache&) {
      store(nullptr);
      return *this;
    }
  };

  WeightFormat format() const;
  std::shared_ptr<const detail::Panels> panels() const;

  Tensor elements_;                               // undefined if frozen
  std::shared_ptr<const detail::Panels> frozen_;  // null if there are elements
  detail::PanelOrder order_ = detail::PanelOrder::kPlain;
  bool is_table_ = false;
  WeightFormat format_ = WeightFormat::kExact;  // of panels next to float32 elements
  mutable Cache kept_;
};

/// What a product multiplies by: a tensor, whose elements it reads in place, or a weight, or rows of
/// one. Made by linear(x, weight) itself, and only for that call.
struct WeightView {
  Shape shape;
  DType dtype = kFloat32;
  Tensor elements;                 // undefined if there are none: the weight is frozen
  const Weight* weight = nullptr;  // whose panels there may be
  index_t first_row = 0;           // in `weight`

  WeightView(const Tensor& tensor);
  WeightView(const Weight& whole);

  bool defined() const { return elements.defined() || weight != nullptr; }
  bool is_constant() const { return weight != nullptr && weight->is_constant(); }
  index_t size(index_t axis) const;

  /// The panels or elements that a product reads which takes panels in this order.
  detail::Factor factor(detail::PanelOrder order) const;
};

}  // namespace tessera
