#include "models/hugging_face/detail/finite.h"

#include <set>

#include "models/hugging_face/detail/module_files.h"
#include "models/hugging_face/detail/weight_files.h"
#include "tensor/error.h"

namespace tessera::models {

namespace fs = std::filesystem;

void require_finite_weights(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;  // the folder was moved since the model was loaded
  std::set<fs::path> seen;
  for (const ModuleRow& row : read_module_rows(folder)) {
    if (has_weight_files(row.folder) && seen.insert(row.folder).second) {
      WeightFiles(row.folder).require_finite_weights();
    }
  }
}

}  // namespace tessera::models
