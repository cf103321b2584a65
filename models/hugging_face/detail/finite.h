// Outputs that are NaN or infinite are errors, caused by a weight that is not finite or by the
// text.
#pragma once

#include <filesystem>

#include "models/hugging_face/task.h"

namespace tessera::models {

/// Throws a std::runtime_error that names file, tensor and element if a weight in a model's folder,
/// or in the folder of one of its modules, is not finite. It reads the files, not the model,
/// because the error must name a tensor of a file: a parameter such as in_proj_weight can be made
/// of several tensors with other names.
void require_finite_weights(const std::filesystem::path& folder);

/// Calls `body`. If it throws NotFinite because a weight of `folder` is not finite, throws the
/// error of require_finite_weights instead. An empty path means that there is no folder.
template <class Body>
auto with_finite_outputs(const std::filesystem::path& folder, const Body& body) {
  try {
    return body();
  } catch (const NotFinite&) {
    if (!folder.empty()) require_finite_weights(folder);
    throw;
  }
}

}  // namespace tessera::models
