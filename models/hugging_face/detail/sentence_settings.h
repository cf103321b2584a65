// The JSON files of a sentence-transformers folder, except those of its modules.
#pragma once

#include <filesystem>

#include "models/hugging_face/sentence_encoder.h"

namespace tessera::models {

/// Reads config_sentence_transformers.json of `folder`, and sentence_bert_config.json, under any of
/// its names, of the encoder's own folder. Both are optional. If the folder limits the tokens of a
/// text, the special ones included, `max_length` is set to the limit.
/// **Errors**: std::runtime_error that names the file, the key, the rule and the value.
SentenceSettings read_sentence_settings(const std::filesystem::path& folder,
                                        const std::filesystem::path& encoder_folder,
                                        index_t& max_length);

/// Writes both files. config_sentence_transformers.json keeps the other keys that it has in the
/// folder `from`.
void write_sentence_settings(const std::filesystem::path& to,
                             const std::filesystem::path& encoder_to,
                             const SentenceSettings& settings, index_t max_length,
                             const std::filesystem::path& from);

}  // namespace tessera::models
