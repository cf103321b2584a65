// The files of a tokenizer in a model's folder.
#pragma once

#include <filesystem>

#include "models/text/detail/pipeline_tokenizer.h"

namespace tessera::text {

/// The tokenizer in a model's folder; load_tokenizer (tokenizers.h) lists its files.
/// **Errors**: std::runtime_error that names the file and the place, or the folder if it has none.
PipelineTokenizer load_pipeline_tokenizer(const std::filesystem::path& folder);

}  // namespace tessera::text
