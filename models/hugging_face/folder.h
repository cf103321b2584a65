// A model's folder as Hugging Face's libraries write it.
#pragma once

#include <filesystem>

#include "tensor/io/json.h"

namespace tessera::models {

/// A folder with a config.json.
struct ModelFolder {
  std::filesystem::path path;
  Json config;

  /// **Errors**: std::runtime_error that names the file: none, or no JSON object.
  explicit ModelFolder(const std::filesystem::path& folder);
};

}  // namespace tessera::models
