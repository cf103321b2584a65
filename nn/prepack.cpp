#include "tessera/nn/prepack.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/storage.h"

namespace tessera::nn::detail {

namespace {

/// A module's parameters for prepacking.
struct FoundWeights {
  explicit FoundWeights(const Parts& parts) {
    for (const auto& [name, tensor, weight] : parts.parameters) {
      if (weight != nullptr) weights.emplace_back(name, weight);
      if (tensor != nullptr) others.push_back(*tensor);
    }
  }

  std::vector<std::pair<std::string, Weight*>> weights;
  std::vector<Tensor> others;
};

/// Replaces `weight`, which is part of `found`, and all weights that are the same, by `value`.
void replace(const FoundWeights& found, const Weight& weight, const Weight& value) {
  const Weight before = weight;
  for (const auto& [name, other] : found.weights) {
    if (!other->is_same(before)) continue;
    if (!other->is_prepacked()) mark_replaced(**other);
    other->take_form(value);
  }
}

/// Whether the module also reads the elements of `weight`: the weight is a table, or shares its
/// elements with a table or with a parameter that is not a Weight.
bool is_read(const FoundWeights& found, const Weight& weight) {
  const auto shares = [&](const Tensor& other) { return other.storage() == weight->storage(); };
  return std::any_of(found.others.begin(), found.others.end(), shares) ||
         std::any_of(found.weights.begin(), found.weights.end(), [&](const auto& named) {
           const Weight& other = *named.second;
           return other.is_table() && shares(*other);
         });
}

/// The format of each weight. A weight that is kept under one of its names is kept under all of
/// them.
std::vector<WeightFormat> formats_of(const FoundWeights& found, const PrepackOptions& options) {
  std::vector<const Weight*> kept;
  for (const auto& [name, weight] : found.weights) {
    if (options.keep && options.keep(name)) kept.push_back(weight);
  }
  std::vector<WeightFormat> formats;
  for (const auto& named : found.weights) {
    const bool keeps = std::any_of(kept.begin(), kept.end(), [&](const Weight* other) {
      return named.second->is_same(*other);
    });
    formats.push_back(keeps ? WeightFormat::kExact : options.format);
  }
  return formats;
}

/// Checks each weight once, even if it has several names.
void check_weights(const FoundWeights& found, const std::vector<WeightFormat>& formats) {
  for (std::size_t i = 0; i < formats.size(); ++i) {
    const auto& named = found.weights[i];
    const auto is_checked = [&](const auto& earlier) {
      return earlier.second->is_same(*named.second) &&
             earlier.second->is_table() == named.second->is_table();
    };
    const auto begin = found.weights.begin();
    if (std::any_of(begin, begin + static_cast<std::ptrdiff_t>(i), is_checked)) continue;
    named.second->check_prepackable(named.first, formats[i]);
  }
}

}  // namespace

void prepack(const Parts& parts, const PrepackOptions& options) {
  const FoundWeights found(parts);
  require_enum("prepack", "format", options.format, kLastWeightFormat);
  const std::vector<WeightFormat> formats = formats_of(found, options);
  check_weights(found, formats);
  const NoGrad not_recorded;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    Weight* const weight = found.weights[i].second;
    const WeightFormat format = formats[i];
    if (!weight->is_prepacked() && is_read(found, *weight)) {
      *weight = weight->in_format(format);
    } else {
      replace(found, *weight, weight->prepacked(format));
    }
  }
  release_cached_memory();
}

void unpack(const Parts& parts) {
  const FoundWeights found(parts);
  for (const auto& [name, weight] : found.weights) {
    if (weight->is_prepacked()) {
      replace(found, *weight, weight->unpacked());
    } else {
      *weight = weight->in_format(WeightFormat::kExact);
    }
  }
}

}  // namespace tessera::nn::detail
