// Hugging Face's .safetensors files: named tensors, and named texts about them.
//
//   save_safetensors("model.safetensors", {{"weight", w}});   // safetensors.torch.load_file reads it
//   Tensor w = load_safetensors("model.safetensors").tensors.at("weight");
//
// **Source**: the format's description in github.com/huggingface/safetensors, README.md and
// safetensors/src/tensor.rs: a little-endian u64 N; N bytes of JSON,
//   {"__metadata__": {"format": "pt"},
//    "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
// and spaces; then the tensors' elements, row-major and little-endian, without gaps.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The contents of a .safetensors file. Names and texts are UTF-8.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Everything in a .safetensors file.
///
/// F32, F64 and BOOL stay what they are; F16 and BF16 become float32; I8 to I64 and U8 to U32
/// become int64.
///
/// Elements that stand in the file as in memory, F32, F64 and I64 at multiples of their size, are
/// not read but mapped: a page of them is read when it is first touched, and copied when it is
/// written to, so every tensor can be written to and the file stays as it is. Memory is given back
/// with the tensor. Tensors of less than 64 KiB are copied, and so is all that cannot be mapped.
/// While tensors live, the file may be replaced (as save_safetensors does) or removed. It must not
/// be written into or shortened in place: see InputFile::map; clone() a tensor that must outlast
/// that.
/// **Errors**: std::runtime_error with the file's name and the place or the tensor's name: no such
/// file; a header longer than 100,000,000 bytes or than the file, or of more than 524,288 values
/// (those of 40,000 tensors; an untrusted file must not take much more memory than it has bytes);
/// one that is not exactly such JSON
/// (another key, a key twice, a number that is no plain unsigned integer, metadata that is not
/// text); another dtype; more than 8 axes, a size above 2^48, sizes that overflow; offsets that do
/// not fit the shape, or that leave gaps, overlap or do not end with the file. Memory for tensors is
/// taken only after these checks.
Safetensors load_safetensors(const std::filesystem::path& path);

/// A tensor as the file describes it: its own dtype, "F16", and the bytes that it takes there.
struct StoredTensor {
  std::string name;
  std::string dtype;
  Shape shape;
  index_t bytes;
};

/// A .safetensors file of which tensors are read when they are needed. Its header is checked as
/// load_safetensors checks it. Copies share the open file.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// The path, for errors.
  const std::string& name() const;
  /// The shape of each tensor.
  const std::map<std::string, Shape>& shapes() const;
  const std::map<std::string, std::string>& metadata() const;
  /// The stored tensors, in the order of the bytes.
  std::vector<StoredTensor> stored() const;
  /// The dtype in which a tensor is stored: "int32". **Errors**: no tensor has the name.
  std::string dtype(const std::string& name) const;
  /// One tensor, as load_safetensors has it. **Errors**: also a name that is not there.
  Tensor read(const std::string& name) const;

 private:
  struct Opened;
  std::shared_ptr<const Opened> opened_;
};

/// Writes tensors, and texts as `__metadata__`: the file is replaced as a whole, as by write_file.
/// "format" becomes "pt" unless `metadata` says otherwise: some readers expect it.
/// **Errors**: an undefined tensor; a name that is empty, too long, "__metadata__" or not UTF-8;
/// more tensors and texts than load_safetensors takes;
/// std::runtime_error where the file cannot be written.
void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tessera
