// Folders of small models under the names that the pages use.
#pragma once

#include <filesystem>
#include <string>

#include "tessera/tensor/io/safetensors.h"

namespace tessera::test {

/// A folder of tests/golden/folders.
inline std::filesystem::path golden_folder(const std::string& name) {
  return std::filesystem::path(TESSERA_GOLDEN_DIR) / "folders" / name;
}

/// The option "--model FOLDER" for golden_folder(name), then `arguments`.
inline std::string with_model(const std::string& name, const std::string& arguments = "") {
  return "--model '" + golden_folder(name).string() + "' " + arguments;
}

/// A copy of the folder "bert" with only the weights of the head for questions: files with several
/// heads are only for tests.
inline void copy_for_questions(const std::filesystem::path& to) {
  std::filesystem::copy(golden_folder("bert"), to);
  const std::filesystem::path file = to / "model.safetensors";
  Safetensors weights = load_safetensors(file);
  std::erase_if(weights.tensors, [](const auto& entry) {
    return entry.first.find("classifier.") != std::string::npos;
  });
  save_safetensors(file, weights.tensors);
}

}  // namespace tessera::test
