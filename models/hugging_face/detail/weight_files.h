// The files that hold a model's weights, read tensor by tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tessera/nn/parameter_source.h"
#include "tessera/tensor/io/safetensors.h"

namespace tessera::models {

/// The tensors of a .safetensors file, or of a folder: those of model.safetensors or, if it does not
/// exist, of the files named in model.safetensors.index.json. Only headers are read at first.
///
/// **Errors**: std::runtime_error that names the file: none of these; a malformed file; an index
/// with a file outside the folder, or with a tensor that its file does not have.
class WeightFiles {
 public:
  explicit WeightFiles(const std::filesystem::path& path);

  /// The names of all tensors, in alphabetical order.
  std::vector<std::string> names() const;
  /// The tensor's shape; null if it does not exist.
  const Shape* shape(const std::string& name) const;
  /// The tensor in float32, from any stored floating type. **Errors**: no such tensor; a shape
  /// other than `shape`, which config.json gives; integers.
  Tensor read(const std::string& name, const Shape& shape) const;
  /// The tensor as SafetensorsFile reads it. **Errors**: no such tensor.
  Tensor read_as_stored(const std::string& name) const;
  /// A source of the tensors, by their names in the files. This object must outlive the source.
  nn::ParameterSource source() const;
  /// **Errors**: a weight that is NaN or infinite in float32; the first, with its place.
  void require_finite_weights() const;
  /// The file of the tensor; if the tensor does not exist, the file that should have it.
  const std::string& file_of(const std::string& name) const;

 private:
  void read_index(const std::filesystem::path& path);

  std::string main_;  // the file, or the index
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t> file_of_;  // by the tensor's name
};

/// Whether a folder has model.safetensors or its index.
bool has_weight_files(const std::filesystem::path& folder);

}  // namespace tessera::models
