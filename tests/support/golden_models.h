// The settings in the golden files of models, as our options and masks.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tessera/models/encoder_layer.h"
#include "tests/support/golden.h"

namespace tessera::test {

/// The golden cases whose names begin with `prefix`.
inline std::vector<std::string> golden_names(const std::string& prefix) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(TESSERA_GOLDEN_DIR)) {
    const std::string name = file.path().stem().string();
    if (file.path().extension() != ".npz") continue;
    if (std::count(std::begin(kGoldenFamilies), std::end(kGoldenFamilies), name) == 0) {
      names.insert(name);
      continue;
    }
    for (const auto& [entry, value] : load_npz(file.path())) {
      names.insert(name + "_" + entry.substr(0, entry.find('/')));
    }
  }
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
  return {names.begin(), names.end()};
}

/// PyTorch's mask argument: bool marks ignored elements, float is added, 3-D is (B H, Tq, Tk).
inline AttentionMask attention_mask(const Tensor& mask, index_t heads) {
  const Tensor full = mask.rank() == 3 ? mask.unflatten(0, {-1, heads}) : mask;
  return full.dtype() == kBool ? ignore_mask(full) : additive_mask(full);
}

inline AttentionMask mask_without_padding(const GoldenCase& golden, index_t heads, DType dtype) {
  AttentionMask mask;
  for (const char* name : {"src_mask", "mask", "attn_mask"}) {
    if (golden.has_input(name)) mask = mask & attention_mask(golden.input(name, dtype), heads);
  }
  return mask;
}

/// All masks that the file has.
inline AttentionMask mask_of(const GoldenCase& golden, index_t heads, DType dtype) {
  AttentionMask mask = mask_without_padding(golden, heads, dtype);
  for (const char* name : {"src_key_padding_mask", "key_padding_mask"}) {
    if (golden.has_input(name)) mask = mask & ignore_keys_mask(golden.input(name));
  }
  return mask;
}

/// The same by the lengths in the file, if padding follows the tokens.
inline AttentionMask mask_by_lengths(const GoldenCase& golden, index_t heads, DType dtype) {
  return length_mask(golden.array("lengths")) & mask_without_padding(golden, heads, dtype);
}

inline models::EncoderLayerOptions layer_options(const GoldenCase& golden) {
  return {.d_model = golden.option("d_model"),
          .nhead = golden.option("nhead"),
          .dim_feedforward = golden.option("dim_feedforward"),
          .dropout = 0,
          .activation = golden.option("gelu") ? nn::Activation::kGelu : nn::Activation::kRelu,
          .layer_norm_eps = golden.option<double>("layer_norm_eps"),
          .batch_first = golden.option("batch_first") != 0,
          .norm_first = golden.option("norm_first") != 0};
}

}  // namespace tessera::test
