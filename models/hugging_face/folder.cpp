#include "models/hugging_face/folder.h"

namespace tessera::models {

ModelFolder::ModelFolder(const std::filesystem::path& folder)
    : path(folder), config(read_json(folder / "config.json")) {
  if (!config.is_object()) config.fail("wanted an object, got ", config.described());
}

}  // namespace tessera::models
