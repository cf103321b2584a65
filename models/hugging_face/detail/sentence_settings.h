// The JSON files of a sentence-transformers folder, except those of its modules.
#pragma once

#include <filesystem>

#include "models/hugging_face/sentence_encoder.h"

namespace tessera::models {

/// The contents of both files. `max_length` is the folder's limit of tokens per text, including
/// special ones; 0: the folder has none.
struct SentenceFiles {
  SentenceSettings settings = {};
  index_t max_length = 0;
};

/// Reads config_sentence_transformers.json of `folder`, and sentence_bert_config.json, under any of
/// its names, of the encoder's folder. Both are optional.
/// **Errors**: std::runtime_error that names the file, the key, the rule and the value.
SentenceFiles read_sentence_files(const std::filesystem::path& folder,
                                  const std::filesystem::path& encoder_folder);

/// Writes both files. config_sentence_transformers.json keeps the other keys that it has in the
/// folder `from`.
void write_sentence_files(const std::filesystem::path& to, const std::filesystem::path& encoder_to,
                          const SentenceFiles& files, const std::filesystem::path& from);

}  // namespace tessera::models
