#include "nn/freeze.h"

#include <algorithm>

#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/storage.h"

namespace tessera::nn::detail {

namespace {

/// Puts `value` in the place of `weight`, which is part of `found`, and of all that are the same.
void replace(const FoundWeights& found, const Weight& weight, const Weight& value) {
  const Weight before = weight;
  for (const auto& [name, other] : found.weights) {
    if (!other->is_same(before)) continue;
    if (!other->is_frozen()) mark_replaced(**other);
    other->take_form(value);
  }
}

/// Whether the module reads the elements of `weight` too: it is a table, or shares them with one or
/// with another parameter.
bool is_read(const FoundWeights& found, const Weight& weight) {
  const auto shares = [&](const Tensor& other) { return other.storage() == weight->storage(); };
  return std::any_of(found.others.begin(), found.others.end(), shares) ||
         std::any_of(found.weights.begin(), found.weights.end(), [&](const auto& named) {
           const Weight& other = *named.second;
           return other.is_table() && shares(*other);
         });
}

WeightFormat format_of(const std::string& name, const FreezeOptions& options) {
  return options.keep && options.keep(name) ? WeightFormat::kExact : options.format;
}

}  // namespace

void freeze(const FoundWeights& found, const FreezeOptions& options) {
  require_enum("freeze", "format", options.format, kLastWeightFormat);
  for (const auto& [name, weight] : found.weights) {
    if (!weight->is_table()) weight->check_freezable(name, format_of(name, options));
  }
  for (const auto& [name, weight] : found.weights) {
    const WeightFormat format = format_of(name, options);
    if (!weight->is_frozen() && is_read(found, *weight)) {
      *weight = weight->in_format(format);
    } else {
      replace(found, *weight, weight->frozen(format));
    }
  }
  release_cached_memory();
}

void thaw(const FoundWeights& found) {
  for (const auto& [name, weight] : found.weights) {
    if (weight->is_frozen()) {
      replace(found, *weight, weight->thawed());
    } else {
      *weight = weight->in_format(WeightFormat::kExact);
    }
  }
}

}  // namespace tessera::nn::detail
