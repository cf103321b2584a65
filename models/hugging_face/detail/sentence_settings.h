// The settings of a sentence-transformers folder: config_sentence_transformers.json and
// sentence_bert_config.json.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/tensor/io/json.h"

namespace tessera::models {

/// The largest limit of tokens per text that a file may have.
inline constexpr index_t kLongestText = index_t{1} << 30;

/// The settings of a folder, and the largest number of tokens of a text, including special ones; 0
/// if there is no limit. Reads config_sentence_transformers.json of `folder`, and
/// sentence_bert_config.json, under any of its names, of the encoder's folder. Both are optional;
/// an empty `encoder_folder` means that there is no transformer. The key model_type, if present,
/// must be `model_type`; the similarity of a ColBERT must be MaxSim.
std::pair<SentenceSettings, index_t> read_settings(
    const std::filesystem::path& folder, const std::filesystem::path& encoder_folder,
    std::string_view model_type = "SentenceTransformer");

/// The prompt to prepend: the given one, else the folder's default. **Errors**: no such prompt.
std::string prompt_of(const char* op, const SentenceSettings& settings, const TaskOptions& options);

/// `options` with the first of these prompts that the folder has, if `options` has no prompt.
TaskOptions options_for(const SentenceSettings& settings, TaskOptions options,
                        std::initializer_list<const char*> names);

/// Writes both files, the second only if `encoder_to` is not empty.
/// config_sentence_transformers.json also gets
/// the members `more`, which come last, and keeps the other keys that it has in the folder `from`.
void write_settings(const std::filesystem::path& to, const std::filesystem::path& encoder_to,
                    const SentenceSettings& settings, index_t max_length,
                    const std::filesystem::path& from, const JsonMembers& more = {});

}  // namespace tessera::models
