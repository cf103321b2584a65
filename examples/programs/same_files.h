// Files that several processes read, perhaps on several hosts. If they differed, the result would be
// wrong.
#pragma once

#include <filesystem>

namespace tessera::examples {

/// Throws unless a file is the same to all processes or, of a folder, what models are read from: the
/// files .json, .model, .safetensors and .txt in it and in its folders. All call it; a single
/// process reads nothing. **Errors**: as nn::require_agreement, with the file's name; what cannot be read.
void require_same_files(const std::filesystem::path& path);

}  // namespace tessera::examples
