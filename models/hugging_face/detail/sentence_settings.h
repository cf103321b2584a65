// The JSON files of a sentence-transformers folder, except those of its modules.
#pragma once

#include <filesystem>

#include "models/hugging_face/sentence_encoder.h"

namespace tessera::models {

/// Reads config_sentence_transformers.json of `folder`, and sentence_bert_config.json, under any of
/// its names, of the encoder's own folder. None must be there. `max_length` is set to the tokens of
/// a text, the special ones included, if the folder limits them.
/// **Errors**: std::runtime_error that names the file, the key, what is wanted and what is there.
SentenceSettings read_sentence_settings(const std::filesystem::path& folder,
                                        const std::filesystem::path& encoder_folder,
                                        index_t& max_length);

/// Writes those files, the latter as sentence_bert_config.json. Other keys of the former are those
/// that the folder `from` has.
void write_sentence_settings(const std::filesystem::path& to,
                             const std::filesystem::path& encoder_to,
                             const SentenceSettings& settings, index_t max_length,
                             const std::filesystem::path& from);

}  // namespace tessera::models
