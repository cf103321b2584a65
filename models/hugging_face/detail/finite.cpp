#include "models/hugging_face/detail/finite.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/hugging_face/detail/module_files.h"
#include "models/hugging_face/detail/weight_files.h"
#include "tensor/error.h"

namespace tessera::models {

namespace fs = std::filesystem;

std::string text_name(const TextName& name, index_t number) {
  return name ? name(number) : str_cat("text ", number);
}

void require_finite_outputs(std::span<const float> outputs, const TextName& name, index_t number) {
  const auto found = std::ranges::find_if(outputs, [](float x) { return !std::isfinite(x); });
  if (found == outputs.end()) return;
  throw NotFinite(
      str_cat(text_name(name, number), ": the model's output must be finite, got ", *found));
}

void require_finite_weights(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;  // it was moved since the model was loaded
  std::set<fs::path> seen;
  for (const ModuleRow& row : read_module_rows(folder)) {
    if (has_weight_files(row.folder) && seen.insert(row.folder).second) {
      WeightFiles(row.folder).require_finite_weights();
    }
  }
}

}  // namespace tessera::models
