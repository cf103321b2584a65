// A pretrained folder with weights that are wide enough for int8, unlike those of golden/folders.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "tessera/tensor/create.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/safetensors.h"
#include "tests/support/file_support.h"
#include "tests/support/oracle.h"

namespace tessera::test {

/// Writes a BERT of width 96 with random weights and the vocabulary of the folder `from`, which has
/// width 12, and returns `to`.
inline std::filesystem::path write_wide_folder(const std::filesystem::path& from,
                                               const std::filesystem::path& to) {
  const auto wide = [](index_t size) { return size == 12 || size == 20 ? 8 * size : size; };
  std::filesystem::create_directories(to);
  std::string config = file_text(from / "config.json");
  for (const std::string size : {"12", "20"}) {
    const std::string was = "_size\": " + size + ",";
    const std::size_t place = config.find(was);
    config.replace(place, was.size(), "_size\": " + std::to_string(wide(std::stol(size))) + ",");
  }
  write_text(to / "config.json", config);
  for (const auto& file : std::filesystem::directory_iterator(from)) {
    const std::string name = file.path().filename().string();
    const bool is_tokenizer = name.starts_with("tokenizer") || name.starts_with("vocab");
    if (is_tokenizer) std::filesystem::copy(file.path(), to / name);
  }
  std::map<std::string, Tensor> tensors;
  std::uint64_t seed = 1;
  for (const auto& [name, tensor] : load_safetensors(from / "model.safetensors").tensors) {
    Shape shape = tensor.shape();
    for (index_t axis = 0; axis < shape.size(); ++axis) shape[axis] = wide(shape[axis]);
    const bool is_norm = name.ends_with("LayerNorm.weight");
    const double largest = 1.7 / std::sqrt(static_cast<double>(shape.back()));
    tensors[name] = is_norm ? random_tensor(shape, kFloat32, seed, 0.5, 1.5)
                            : random_tensor(shape, kFloat32, seed, -largest, largest);
    ++seed;
  }
  save_safetensors(to / "model.safetensors", tensors);
  return to;
}

}  // namespace tessera::test
