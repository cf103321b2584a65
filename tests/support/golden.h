// Reads the files of tests/golden, which contain PyTorch's results; golden/README.md describes
// each.
//
//   GoldenCase golden("mha_cross");
//   load(module, golden.state(kFloat64));
//   Tensor out = module(golden.input("query", kFloat64), ...);   // compare with golden.output()
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/tensor.h"

namespace tessera::test {

/// The files with many cases: mha_cross is the entries "cross/..." of mha.npz.
inline constexpr std::string_view kGoldenFamilies[] = {"encoder_layer", "gradients", "mha"};

class GoldenCase {
 public:
  /// Reads tests/golden/<name>.npz, or the case in the file of its family.
  explicit GoldenCase(const std::string& name) : name_(name) {
    std::string file = name, prefix;
    for (const std::string_view family : kGoldenFamilies) {
      if (!name.starts_with(str_cat(family, "_"))) continue;
      file = family;
      prefix = name.substr(family.size() + 1) + "/";
    }
    for (auto& [entry, value] : load_npz(TESSERA_GOLDEN_DIR "/" + file + ".npz")) {
      if (entry.starts_with(prefix)) arrays_.emplace(entry.substr(prefix.size()), value);
    }
  }

  const std::string& name() const { return name_; }
  bool has(const std::string& entry) const { return arrays_.contains(entry); }

  /// The entry by its full name, as stored. Errors: there is none.
  const Tensor& array(const std::string& entry) const {
    const auto found = arrays_.find(entry);
    if (found == arrays_.end()) {
      throw std::out_of_range(str_cat("golden file ", name_, " has no entry ", entry));
    }
    return found->second;
  }

  bool has_input(const std::string& key) const { return has("input." + key); }
  /// An argument of forward; floating ones in `dtype`, masks of bool unchanged.
  Tensor input(const std::string& key, DType dtype = kFloat32) const {
    return floating_to(array("input." + key), dtype);
  }

  /// The parameters by PyTorch's names ("self_attn.in_proj_weight").
  std::map<std::string, Tensor> state(DType dtype = kFloat32) const {
    return group("state.", dtype);
  }

  /// The entries whose names begin with `prefix`, under the rest of their names.
  std::map<std::string, Tensor> group(std::string_view prefix, DType dtype = kFloat32) const {
    std::map<std::string, Tensor> found;
    for (const auto& [entry, value] : arrays_) {
      if (entry.starts_with(prefix)) {
        found.emplace(entry.substr(prefix.size()), floating_to(value, dtype));
      }
    }
    return found;
  }

  /// A setting of the module: `option("nhead")`; `option<double>("layer_norm_eps")`.
  template <class T = index_t>
  T option(const std::string& key) const {
    return array("option." + key).item<T>();
  }

  /// The result, float64.
  const Tensor& output() const { return array("output"); }
  /// The attention weights, float64. Errors: the case returns none.
  const Tensor& weights() const { return array("weights"); }

  /// Whether position `token` of sequence `batch` of the output is a real token.
  bool is_real(index_t batch, index_t token) const {
    if (has_input("key")) return true;  // The padding is for the keys; the output has the queries.
    for (const char* mask : {"input.src_key_padding_mask", "input.key_padding_mask"}) {
      if (has(mask)) return !array(mask).item_at<bool>({batch, token});
    }
    return true;
  }

 private:
  static Tensor floating_to(const Tensor& value, DType dtype) {
    return is_floating(value.dtype()) ? value.to(dtype) : value;
  }

  std::string name_;
  std::map<std::string, Tensor> arrays_;
};

}  // namespace tessera::test
