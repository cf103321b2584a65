// The matrix that a linear layer multiplies by, and its two forms: with elements, or only with
// panels. Panels are a copy of the elements in the layout of matrix products.
//
//   Weight weight = randn({out, in});
//   Tensor y = linear(x, weight, bias);                  // makes the panels, once
//   weight = weight.prepacked(WeightFormat::kInt8);      // now it has only panels
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tessera/tensor/atomic_shared.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// The format in which products read the elements of a weight.
///
/// * kExact: the elements are not rounded.
/// * kInt8: each row is rounded to 8-bit integers times a scale. A product rounds each row of the
///   other factor to 8 bits too; the sums of products of these integers are exact.
///
/// Only float32 weights are rounded. A weight with fewer than 64 rows or more than 65,536 columns
/// stays kExact instead of kInt8.
/// **Source**: Jacob et al., "Quantization and Training of Neural Networks for Efficient
/// Integer-Arithmetic-Only Inference", 2018, equation 1, for kInt8.
enum class WeightFormat { kExact, kInt8 };
inline constexpr WeightFormat kLastWeightFormat = WeightFormat::kInt8;

namespace detail {
class WeightPanels;
}

/// A matrix (out, in) that products read as panels: its elements, copied into a layout for the
/// instruction set in use. A weight has one of two forms. A weight with elements also gets panels
/// in its first product, and new ones in the first product after the elements have changed. A
/// prepacked weight has only panels.
///
/// A pointer from mutable_data() may only be written to until the next product. A product compares
/// 4 elements, or all if checks_weights() is true, with those that were packed, and throws if one
/// has changed without a new version of the storage.
///
/// A weight with elements converts to the Tensor of these elements; `weight->grad()` and `*weight =
/// tensor` reach this Tensor. A prepacked weight has a shape but no elements, and no gradient flows
/// through a prepacked weight. Copies of a weight share its elements or, if it is prepacked, its
/// panels.
///
/// Several threads may multiply by one weight at the same time, if no thread changes the weight at
/// that time.
class Weight {
 public:
  /// No weight: `defined()` is false.
  Weight() = default;
  /// For linear().
  Weight(Tensor elements) : elements_(std::move(elements)) {}
  /// For gated_linear().
  static Weight gated(Tensor elements = {});
  /// For linear() and for code that reads rows, such as an embedding: nn::prepack keeps the
  /// elements.
  static Weight table(Tensor elements = {});

  /// A copy has the panels of a prepacked weight, but not the panels of the last product: the copy
  /// would keep their memory after the original has packed new elements.
  Weight(const Weight& other);
  /// Afterwards `other` is undefined.
  Weight(Weight&& other) noexcept;
  /// If this weight is for linear() only, it becomes a copy of `other`. Otherwise this weight keeps
  /// its use, and takes only the elements or the panels of `other`. If the panels do not fit this
  /// use, this weight takes elements computed from the panels.
  Weight& operator=(const Weight& other);
  /// As a copy; afterwards `other` is undefined.
  Weight& operator=(Weight&& other);
  /// Replaces the elements or panels by `elements`; the use does not change.
  Weight& operator=(Tensor elements);
  ~Weight() = default;

  /// Whether there is a weight, prepacked or not.
  bool defined() const { return is_prepacked() || elements_.defined(); }
  /// (out, in).
  const Shape& shape() const;
  /// The size along `axis`, which may be negative. **Errors**: no weight; an axis out of range.
  index_t size(index_t axis) const;
  /// The number of axes.
  index_t rank() const { return shape().size(); }
  /// The number of elements.
  index_t count() const;
  /// The dtype of the elements; of a prepacked weight, the dtype before prepacking.
  DType dtype() const;

  // The elements. **Errors**: the weight is prepacked.
  Tensor& operator*();
  const Tensor& operator*() const;
  Tensor* operator->() { return &**this; }
  const Tensor* operator->() const { return &**this; }
  operator const Tensor&() const { return **this; }

  /// The elements, which are undefined if the weight is prepacked, except in rows of a rounded one.
  const Tensor& elements_or_none() const { return elements_; }

  /// Rows [begin, end) as a weight for linear(). If a panel begins at row `begin` (a panel has 4 to
  /// 32 rows) and this weight is for linear() too, the rows share this weight's panels; otherwise
  /// they get their own. The rows of a prepacked or rounded weight are prepacked, and have the same
  /// rounded elements.
  /// **Errors**: not a matrix; rows out of range; as panels().
  Weight rows(index_t begin, index_t end) const;

  // ---- forms ----

  /// Whether code that reads rows, such as an embedding, uses the weight too.
  bool is_table() const { return use_ == Use::kTable; }
  /// Takes the elements or panels of `other`, which must be for the same kind of product.
  void take_form(const Weight& other);
  /// Whether the weight has only panels.
  bool is_prepacked() const { return only_panels_ != nullptr; }
  /// Whether no gradient flows through the weight: the weight is prepacked, or products read
  /// rounded elements.
  bool is_prepacked_or_rounded() const;
  /// Whether this weight and `other` are for the same kind of product, and share the same elements
  /// or the same prepacked panels.
  bool is_same(const Weight& other) const;

  /// The weight with only panels, in `format`. If the weight is already prepacked in a different
  /// format, its rounded elements are packed in the new format; the elements before rounding are
  /// not recovered. **Errors**: not a float32 matrix; an odd number of rows for gated_linear(); inf
  /// or NaN that kInt8 would round.
  Weight prepacked(WeightFormat format) const;
  /// Throws if nn::prepack cannot give the weight `format`; the error calls the weight `name`. A
  /// weight that is not a table must be a float32 matrix, with an even number of rows if it is for
  /// gated_linear(). A weight that kInt8 would round must have no inf or NaN, also if it is a
  /// table.
  void check_prepackable(const std::string& name, WeightFormat format) const;
  /// For a prepacked weight: a weight with elements computed from the panels; rounded elements stay
  /// rounded. For any other weight: the same weight in format kExact.
  Weight unpacked() const;
  /// This weight with its elements, and panels in `format`. **Errors**: the weight is prepacked.
  Weight in_format(WeightFormat format) const;

  /// The panels for gated_linear() or, if not `gated`, for linear(). If this weight is for the same
  /// products, it keeps the panels until its elements change; otherwise each call makes them.
  /// **Errors**: panels for a different instruction set than the one in use; inf or NaN that kInt8
  /// would round.
  std::shared_ptr<const detail::WeightPanels> panels(bool gated) const;

 private:
  /// The users of the weight: linear(), gated_linear(), or linear() and code that reads rows.
  enum class Use { kLinear, kGated, kTable };

  void check_matrix(const std::string& name) const;
  bool is_gated() const { return use_ == Use::kGated; }
  WeightFormat format() const;

  Use use_ = Use::kLinear;
  WeightFormat wanted_ = WeightFormat::kExact;  // requested for panels; see fitting_format()
  Tensor elements_;                             // undefined if prepacked, except in rows()
  std::shared_ptr<const detail::WeightPanels> only_panels_;  // null unless it is prepacked
  mutable AtomicShared<const detail::WeightPanels> cache_;   // the panels of the last product
};

/// Whether products compare all of a weight's elements, not only 4, with those that were packed, to
/// find writes through pointers that were kept too long. A comparison takes longer than
/// a product of few rows. It is on if the environment variable TESSERA_CHECK_WEIGHTS is 1, off if
/// it is 0, and otherwise on in debug builds (without NDEBUG).
/// **Errors** (thrown by the first use): a TESSERA_CHECK_WEIGHTS that is not 0, 1 or empty.
bool checks_weights();

/// Switches the checks of later products on or off; for tests.
/// **Errors**: as checks_weights.
void set_checks_weights(bool on);

}  // namespace tessera
