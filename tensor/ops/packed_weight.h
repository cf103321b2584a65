// Weights in the layout that matrix multiplication reads, made once and kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tensor/tensor.h"

namespace tessera {

/// How the columns of a packed weight are dealt to panels: in their order, or, for gated_linear, those
/// of the first and the second half that belong together side by side.
enum class PanelOrder { kPlain, kGated };

/// The panels of one weight, made when they are first needed and again when the weight has changed:
/// when it was written to (its storage's version), replaced, or when another order is asked for or
/// another instruction set runs.
///
/// A module keeps one beside each weight. Several threads may ask at once. A copy starts empty.
class PackedWeight {
 public:
  PackedWeight() = default;
  PackedWeight(const PackedWeight&) {}
  PackedWeight& operator=(const PackedWeight&);

  /// The panels of weight^T, or an undefined tensor while packing is switched off.
  /// **Shapes**: weight (out, in), floating; gated, out is even.
  Tensor panels(const Tensor& weight, PanelOrder order = PanelOrder::kPlain) const;

 private:
  struct Pack;
  mutable std::atomic<std::shared_ptr<const Pack>> pack_;
};

/// Whether weights are kept packed; on at first. Off saves packed_weight_bytes() of memory and
/// costs one more pass over a weight at each call.
void set_weight_packing(bool on);

/// The memory that packed weights hold now, in bytes.
index_t packed_weight_bytes();

}  // namespace tessera
