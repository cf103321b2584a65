// NumPy's .npy files: one array each.
//
//   save_npy("weights.npy", w);           // numpy.load("weights.npy") reads it
//   Tensor w = load_npy("weights.npy");   // also reads what numpy.save writes
//
// **Source**: the format's description in numpy/lib/format.py, versions 1.0 to 3.0.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tessera/tensor/io/file.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// The array in a .npy file, in row-major order.
///
/// bool, float32 and float64 keep their dtype; float16 becomes float32, and every integer type
/// except uint64 becomes int64. Both byte orders and Fortran order are supported.
/// **Errors**: std::runtime_error with the file's name and the place: no such file, or one that
/// cannot be read; a Git LFS pointer or an HTML page instead of the file; a header that is not
/// exactly as the format says, or longer than 10,000 bytes; more than 8 axes; an unsupported dtype
/// (objects, complex, text, uint64); more or fewer bytes than the shape needs. Memory is allocated
/// only after these checks.
Tensor load_npy(const std::filesystem::path& path);

/// The dtype in which a .npy file stores its elements: "int32", for example, which load_npy
/// converts to int64. Reads only the header.
/// **Errors**: as load_npy, except that the number of bytes is not checked.
std::string npy_dtype(const std::filesystem::path& path);

/// As load_npy, for a part of a file, and without refuse_incomplete_download.
Tensor read_npy(const FileRegion& region);

/// Writes version 1.0 of the format, in row-major order. The file is replaced as a whole: a program
/// that opens `path` at any time, or after a crash, reads all of the old file or all of the new
/// one.
/// **Errors**: an undefined tensor; std::runtime_error if the file cannot be written.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

/// The arrays in a .npz file as numpy.savez writes it, by name (without the ".npy" of the entry).
/// Archives beyond 4 GB (zip64) are read, and checksums are checked.
/// **Errors**: std::runtime_error with the file's name and the entry: no such file, or one that
/// cannot be read; a file that is not a complete zip archive; a compressed entry, which
/// numpy.savez_compressed makes; an encrypted entry; a wrong checksum; an entry that is not a .npy
/// file or that load_npy would reject; a name that occurs twice.
/// **Source**: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path);

}  // namespace tessera
