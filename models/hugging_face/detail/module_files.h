// The files of a sentence-transformers folder that say which modules it has, and those of each module.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/hugging_face/sentence_modules.h"
#include "nn/embedding.h"

namespace tessera::models {

/// A row of modules.json.
struct ModuleRow {
  std::string kind;              // the last part of its type: "Pooling"
  std::filesystem::path folder;  // with its files
  std::string place;             // of the type, for errors
};

/// The rows of modules.json; if there is no such file, only a Transformer.
/// **Errors**, here and below: std::runtime_error that names the file, the key, what is wanted and
/// what is there; a folder outside of `folder`.
std::vector<ModuleRow> read_module_rows(const std::filesystem::path& folder);

/// The pooling of a module's folder, for vectors of `width`.
SentencePooling read_pooling(const std::filesystem::path& folder, index_t width);

/// Appends the module of a row, whose input has `width` columns; a Dropout is none. Returns how
/// many columns its output has.
index_t add_module(const ModuleRow& row, index_t width, std::vector<SentenceModule>& modules);

/// Writes the files of a pooling of vectors of `width`, and of a module, into its folder, which is
/// there. A Normalize has none.
/// **Errors**: std::invalid_argument: an activation that has no name there.
void write_pooling(const std::filesystem::path& folder, const SentencePooling& pooling,
                   index_t width);
void write_module(const std::filesystem::path& folder, const SentenceModule& module);

/// The last part of a module's type in modules.json.
const char* kind_of(const SentenceModule& module);

/// A table of vectors that are the model's own input, as model2vec makes it: (V, D).
nn::Embedding read_static_embedding(const std::filesystem::path& folder);

}  // namespace tessera::models
