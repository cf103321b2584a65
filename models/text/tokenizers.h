// The tokenizers that have a name: chosen at run time, and read from files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// What make_tokenizer can make: "words", "characters".
std::vector<std::string> tokenizer_kinds();

/// A tokenizer whose vocabulary comes from `texts`. **Errors**: another kind; as TokenCounts.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options = {});

/// The tokenizer of which to_text made `text`; the first line names the kind.
/// **Errors**: std::runtime_error that begins with `file`: other text.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file);

/// The tokenizer in a file of Tokenizer::save. **Errors**: as tokenizer_from_text; no such file.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace tessera::text
