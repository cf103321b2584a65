// The arguments of lessons that load a model.
#pragma once

#include <filesystem>
#include <string>

#include <tessera/tensor/error.h>

namespace tessera::examples {

struct ModelLesson {
  std::filesystem::path model = TESSERA_SMALL_MODEL;
  std::filesystem::path pictures = {};  // empty: no pictures
  bool is_small = true;                 // whether it is the course's own model

  /// Each argument is a model's folder, which has a config.json, or the folder for pictures.
  ModelLesson(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::filesystem::path folder = argv[i];
      require(std::filesystem::is_directory(folder), "FOLDER",
              "must be the folder of a model, or a folder for pictures, got ", printable(argv[i]));
      const bool is_model = std::filesystem::exists(folder / "config.json");
      (is_model ? model : pictures) = folder;
      if (is_model) is_small = false;
    }
  }
};

}  // namespace tessera::examples
