// What each family has between its encoder and the scores.
#pragma once

#include <string>
#include <vector>

#include "models/classifier.h"
#include "models/hugging_face/folder.h"
#include "models/masked_lm.h"

namespace tessera::models {

/// The names of a folder's classes. **Errors**: as read_labels; not one for each row of the
/// classifier.
std::vector<std::string> load_labels(const ModelFolder& folder);

/// Options of the models with a head that a folder's config describes.
/// **Errors**: std::runtime_error with the file's name and the key.
SequenceClassifierOptions sequence_classifier_options(const ModelFolder& folder, index_t classes);
TokenClassifierOptions token_classifier_options(const ModelFolder& folder, index_t classes);
MaskedLmOptions masked_lm_options(const ModelFolder& folder);

/// A model with the folder's weights, in evaluation mode.
template <nn::Module M, class Options>
M load_model(const Options& options, const ModelFolder& folder,
             const std::vector<Rename>& renames = {}) {
  Rng blank = Rng::blank();
  M model(options, blank);
  load_weights(model, folder, renames);
  nn::eval(model);
  return model;
}

}  // namespace tessera::models
