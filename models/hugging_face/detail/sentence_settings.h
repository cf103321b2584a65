// The settings of a sentence-transformers folder: config_sentence_transformers.json and
// sentence_bert_config.json.
#pragma once

#include <filesystem>
#include <utility>

#include "tessera/models/hugging_face/sentence_encoder.h"

namespace tessera::models {

/// The largest limit of tokens per text that a file may have.
inline constexpr index_t kLongestText = index_t{1} << 30;

/// The settings of a folder, and the largest number of tokens of a text, including special ones; 0
/// if there is no limit. Reads config_sentence_transformers.json of `folder`, and
/// sentence_bert_config.json, under any of its names, of the encoder's folder. Both are optional;
/// an empty `encoder_folder` means that there is no transformer.
std::pair<SentenceSettings, index_t> read_settings(const std::filesystem::path& folder,
                                                   const std::filesystem::path& encoder_folder);

/// Writes both files, the second only if `encoder_to` is not empty.
/// config_sentence_transformers.json keeps the other keys that it has in the folder `from`.
void write_settings(const std::filesystem::path& to, const std::filesystem::path& encoder_to,
                    const SentenceSettings& settings, index_t max_length,
                    const std::filesystem::path& from);

}  // namespace tessera::models
