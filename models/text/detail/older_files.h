// Tokenizers from before tokenizer.json, written as one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/text/detail/pipeline_tokenizer.h"

namespace tessera::text {

/// The tokenizer.json of a folder that has vocab.txt, or vocab.json and merges.txt, instead;
/// nothing if it has neither. `config` is the folder's tokenizer_config.json, if there is one.
/// **Errors**: std::runtime_error that names the file and the place.
std::optional<std::string> older_tokenizer_json(const std::filesystem::path& folder,
                                                const std::optional<Json>& config,
                                                const TokenizerConfig& names);

}  // namespace tessera::text
