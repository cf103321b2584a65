// Hugging Face's .safetensors files: tensors by name, and metadata (texts by name).
//
//   save_safetensors("model.safetensors", {{"weight", w}});   // as safetensors.torch.save_file
//   Tensor w = load_safetensors("model.safetensors").tensors.at("weight");
//
// A file has three parts:
//   1. the size N of part 2 in bytes, a little-endian u64;
//   2. N bytes of JSON, filled up with spaces:
//        {"__metadata__": {"format": "pt"},
//         "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
//   3. the tensors' elements, row-major and little-endian, without gaps. data_offsets is the range
//      of a tensor's bytes within this part.
//
// **Source**: github.com/huggingface/safetensors, README.md and safetensors/src/tensor.rs.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The contents of a .safetensors file. Names and metadata are UTF-8.
struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Everything in a .safetensors file.
///
/// F32, F64 and BOOL keep their dtype; F16 and BF16 become float32; I8 to I64 and U8 to U32 become
/// int64.
///
/// Tensors whose elements have the same form in the file and in memory (F32, F64 and I64, if the
/// first element is at a multiple of its size) are mapped instead of read. Small tensors (less than
/// 64 KiB, or less than 1/8192 of the file) are copied, and so are all tensors that cannot be
/// mapped.
///
/// * Each page of a mapping is read when it is first accessed, and copied when it is written to.
/// * So every tensor can be written to, and the file does not change. A tensor's destruction frees
///   its memory.
/// * While tensors live, the file may be replaced (as save_safetensors does) or removed, but must
///   not be written into or shortened in place: see InputFile::map. clone() a tensor that must
///   survive such a change.
///
/// **Errors**: std::runtime_error with the file's name and the place or the tensor's name:
/// * no such file, or one that cannot be read;
/// * a Git LFS pointer or an HTML page instead of the file;
/// * a header longer than 100,000,000 bytes or than the file, or of more than 524,288 values
///   (enough for 40,000 tensors; an untrusted file must not take much more memory than its size);
/// * a header that is not JSON exactly in the format's form: an unknown key, a key twice, a number
///   that is not a plain unsigned integer, metadata that is not text, a tensor's name longer than
///   4096 bytes;
/// * an unsupported dtype, such as U64 or the F8 types, except in a SafetensorsFile;
/// * more than 8 axes, a size above 2^48, sizes that overflow;
/// * offsets that do not fit the shape, or that leave gaps, overlap or do not end with the file.
///
/// Memory for tensors is allocated only after these checks.
Safetensors load_safetensors(const std::filesystem::path& path);

/// A tensor as the file describes it.
struct StoredTensor {
  std::string name;
  std::string dtype;  // the format's name, such as "F16"
  Shape shape;
  index_t bytes = 0;  // the size in the file
  index_t begin = 0;  // the first byte, counted from the end of the header
};

/// A .safetensors file whose tensors are read when they are needed. The header of the file is
/// checked as in load_safetensors, except that tensors may have dtypes that cannot be read. Copies
/// share the open file. **Errors**: as load_safetensors.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// The path, for errors.
  const std::string& name() const;
  /// The shape of each tensor.
  const std::map<std::string, Shape>& shapes() const;
  const std::map<std::string, std::string>& metadata() const;
  /// The stored tensors, in the order of their bytes in the file.
  const std::vector<StoredTensor>& stored() const;
  /// The dtype in which a tensor is stored, by NumPy's name: "int32" if StoredTensor::dtype is
  /// "I32"; "bfloat16", which NumPy lacks, for "BF16". **Errors**: there is no such tensor, or its
  /// dtype cannot be read.
  std::string dtype(const std::string& name) const;
  /// Whether the tensor has a supported dtype. **Errors**: there is no such tensor.
  bool can_read(const std::string& name) const;
  /// One tensor, as load_safetensors reads it. **Errors**: there is no such tensor; an unsupported
  /// dtype; the file cannot be read.
  Tensor read(const std::string& name) const;

 private:
  struct Opened;
  std::shared_ptr<const Opened> opened_;
};

/// Throws the errors that save_safetensors has for one entry of its `metadata`, so that a long run
/// can check what it will save.
void check_safetensors_text(const std::string& key, const std::string& text);

/// Writes tensors as F32, F64, I64 and BOOL, and `metadata` as `__metadata__`. The file is replaced
/// as a whole, as by write_file. If `metadata` has no key "format", this key is written with the
/// text "pt", because some readers expect this key.
/// **Errors**: an undefined tensor; a tensor named "__metadata__"; a name or a key that is empty or
/// longer than 4096 bytes; text that is not UTF-8; a longer header, or more tensors and texts, than
/// load_safetensors accepts; a big-endian processor; std::runtime_error if the file cannot be
/// written.
void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tessera
