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

/// The kinds that make_tokenizer can make: "words", "characters", "wordpiece", "bpe".
std::vector<std::string> tokenizer_kinds();

/// A tokenizer whose vocabulary comes from `texts`. "wordpiece" and "bpe" are learned from
/// them (trained_tokenizers.h); they always have a [SEP]. **Errors**: an unknown kind; those of
/// TokenCounts and the trainers.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options = {});

/// The tokenizer that `text` describes: a result of to_text, whose first line names the kind, or a
/// tokenizer.json, which begins with {.
/// **Errors**: std::runtime_error that begins with `file`: other text.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file);

/// The tokenizer in a file of Tokenizer::save, in a tokenizer.json, or in a model's folder:
///
///   tokenizer.json                         as it is; or, without it,
///   vocab.txt                              WordPiece, or
///   vocab.json, merges.txt                 byte-level BPE, as GPT-2 and RoBERTa have it
///   tokenizer_config.json, special_tokens_map.json: settings() and special(), if they are there
///
/// A file has no settings(): give the folder, if there is one.
/// **Errors**: as tokenizer_from_text; no such file; a folder without a tokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

}  // namespace tessera::text
