// The files of models. If they differed between processes, perhaps on several hosts, the result
// would be wrong.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::examples {

/// Whether files with this name belong to models: .json, .model and .safetensors, vocab.txt and
/// merges.txt.
bool is_model_file(const std::filesystem::path& file);

/// Throws if a file or, for a folder, the model files in it and in its folders differ between
/// processes. All processes must call it; a single process reads nothing.
/// **Errors**: as nn::require_same, with the file's name; a file that cannot be read.
void require_same_files(const std::filesystem::path& path);

/// A text that depends on the bytes of a file or, for a folder, of the model files in it.
std::string contents_digest(const std::filesystem::path& path);

}  // namespace tessera::examples
