// Weights in the layout that matrix multiplication reads, made once and kept.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/atomic_shared.h"
#include "tensor/tensor.h"

namespace tessera {

/// How the columns of a packed weight are dealt to panels: in their order, or, for gated_linear, those
/// of the first and the second half that belong together side by side.
enum class PanelOrder { kPlain, kGated };

/// What the elements of a packed weight are: the weight's own, or, of a float32 weight, those rounded
/// to bfloat16, the upper half of a float32. Products and sums are float32's either way.
enum class WeightFormat { kExact, kBFloat16 };

/// Panels for the instruction set in use, as kernels read them; none where there is no memory.
struct WeightPanels {
  Storage memory;
  WeightFormat format = WeightFormat::kExact;
  index_t offset = 0;  // of the first panel, in bytes

  explicit operator bool() const { return static_cast<bool>(memory); }
};

/// The panels of one weight, made when they are first needed and again when the weight has changed:
/// when it was written to (its storage's version), replaced, or when another order is asked for or
/// another instruction set runs.
///
/// **Frozen**, the panels take the weight's place: the tensor keeps its shape and gives its elements
/// up, and the panels hold for as long as the weight is that tensor. So they serve another order or
/// instruction set too, unpacked and packed again. To assign another weight ends it.
///
/// A module keeps one for each weight. Several threads may read at once, but not while one
/// freezes. A copy shares frozen panels, and else starts empty.
class PackedWeight {
 public:
  PackedWeight() = default;
  PackedWeight(const PackedWeight& other);
  PackedWeight& operator=(const PackedWeight& other);

  /// The panels of weight^T, or none while packing is switched off. Of a frozen weight's rows,
  /// `weight` being such a view, too.
  /// **Shapes**: weight (out, in), floating; gated, out is even.
  WeightPanels panels(const Tensor& weight, PanelOrder order = PanelOrder::kPlain) const;

  /// Packs `weight` and puts a tensor of its shape without elements in its place. A frozen weight is
  /// packed again in another format.
  /// **Errors**: a weight that is no float32 matrix.
  void freeze(Tensor& weight, WeightFormat format, PanelOrder order = PanelOrder::kPlain);
  /// Gives a frozen weight, rounded if its format did so, its elements back; does not change others.
  void thaw(Tensor& weight);
  /// The format of panels from here on, of a float32 weight that keeps its elements because something
  /// else reads them too.
  void set_format(WeightFormat format) { format_ = format; }

  /// Whether no gradient passes these panels: the weight is frozen, or they are rounded.
  bool is_constant(const Tensor& weight) const;

 private:
  struct Pack;
  std::shared_ptr<const Pack> frozen(const Tensor& weight) const;
  WeightPanels frozen_panels(const Pack& pack, const Tensor& weight, PanelOrder order) const;
  WeightFormat format_of(const Tensor& weight) const;

  mutable AtomicShared<const Pack> pack_;
  WeightFormat format_ = WeightFormat::kExact;
};

/// Whether weights are kept packed; on at first. Off saves packed_weight_bytes() of memory and
/// costs one more pass over a weight at each call. Frozen weights stay packed.
void set_weight_packing(bool on);

/// The memory that packed weights hold now, frozen ones included, in bytes.
index_t packed_weight_bytes();

}  // namespace tessera
