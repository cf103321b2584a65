#include "nn/freeze.h"

#include <algorithm>

#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace tessera::nn::detail {

namespace {

using Found = FoundWeights::Found;

bool is_same(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

void check(const FoundWeights& found) {
  for (const auto& [name, weight] : found.weights) {
    const Tensor& values = weight.values;
    require(!values.defined() || (values.rank() == 2 && values.dtype() == kFloat32), "freeze", name,
            " must be a float32 matrix, got ", values.dtype(), ' ', values.shape());
  }
}

/// The weights from number `first` on that are the same tensor as that one, itself included.
std::vector<Found> tied_to(const FoundWeights& found, std::size_t first) {
  std::vector<Found> tied;
  for (std::size_t i = first; i < found.weights.size(); ++i) {
    const Found& weight = found.weights[i].second;
    if (is_same(weight.values, found.weights[first].second.values)) tied.push_back(weight);
  }
  return tied;
}

/// Freezes weights that are one tensor, and keeps them one.
void freeze_tied(const std::vector<Found>& tied, WeightFormat format) {
  const Found& first = tied.front();
  for (const Found& weight : tied) mark_replaced(weight.values);
  first.packed.freeze(first.values, format, first.order);
  for (std::size_t i = 1; i < tied.size(); ++i) {
    tied[i].values = first.values;
    tied[i].packed = first.packed;
  }
}

}  // namespace

void freeze(const FoundWeights& found, WeightFormat format) {
  require_enum("freeze", "format", format, WeightFormat::kBFloat16);
  check(found);
  const auto is_read = [&](const Tensor& values) {
    return std::any_of(found.others.begin(), found.others.end(),
                       [&](const Tensor& other) { return other.storage() == values.storage(); });
  };
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    const Found& weight = found.weights[i].second;
    if (weight.values.defined() ? is_read(weight.values) : weight.tied != nullptr) {
      weight.packed.set_format(format);
    } else if (weight.values.defined()) {
      freeze_tied(tied_to(found, i), format);
    }
  }
  release_cached_memory();
}

void thaw(const FoundWeights& found) {
  for (std::size_t i = 0; i < found.weights.size(); ++i) {
    const Found& weight = found.weights[i].second;
    if (!weight.values.defined() || weight.values.has_elements()) {
      weight.packed.set_format(WeightFormat::kExact);
      continue;
    }
    const std::vector<Found> tied = tied_to(found, i);
    weight.packed.thaw(weight.values);
    for (std::size_t other = 1; other < tied.size(); ++other) {
      tied[other].values = weight.values;
      tied[other].packed = PackedWeight();
    }
  }
}

}  // namespace tessera::nn::detail
