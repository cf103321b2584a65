// NumPy's .npz files: named arrays, a zip archive of .npy files.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tensor/tensor.h"

namespace tessera {

/// The arrays in a .npz file as numpy.savez writes it, by name (without the ".npy" of the entry).
/// Archives beyond 4 GB (zip64) are understood, checksums are checked.
/// **Errors**: std::runtime_error with the file's name and the entry: a file that is not a whole
/// zip archive; a compressed entry, which numpy.savez_compressed makes; an entry that is not a .npy
/// file or that load_npy would refuse; a name that occurs twice.
/// **Source**: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path);

}  // namespace tessera
